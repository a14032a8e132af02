// Named constants of a node, such as stride or epsilon. Few entries; kept sorted by name so that
// equal nodes print equally.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace pounce {

enum class AttributeType : uint8_t { Int, Float, Text, Ints, Floats };

// The alternatives stand in the order of AttributeType.
using AttributeValue =
    std::variant<int64_t, double, std::string, std::vector<int64_t>, std::vector<double>>;

class Attributes {
 public:
  using Entry = std::pair<std::string, AttributeValue>;

  Attributes() = default;
  Attributes(std::initializer_list<Entry> entries);

  // Replaces an entry of the same name.
  void set(std::string name, AttributeValue value);
  // Null when absent.
  const AttributeValue* find(std::string_view name) const;

  // Each throws Internal when the entry is absent or of another type: the op table guarantees both.
  int64_t integer(std::string_view name) const;
  double number(std::string_view name) const;
  const std::string& text(std::string_view name) const;
  const std::vector<int64_t>& integers(std::string_view name) const;
  const std::vector<double>& numbers(std::string_view name) const;

  const std::vector<Entry>& entries() const { return entries_; }
  bool operator==(const Attributes& other) const = default;

 private:
  template <typename T>
  const T& get(std::string_view name) const;

  std::vector<Entry> entries_;
};

// `{padding=[1,1], eps=1e-05}`; empty text for no entries. Numbers print in round-trip digits.
std::string to_string(const Attributes& attributes);

}  // namespace pounce
