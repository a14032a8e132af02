#include "ir/attributes.h"

#include <algorithm>

#include "base/error.h"

namespace pounce {
namespace {

std::string float_text(double value) {
  std::string text = fmt::format("{}", value);
  // A point tells a number from an integer to readers of the text form.
  if (text.find_first_of(".einf") == std::string::npos) text += ".0";
  return text;
}

struct Printer {
  std::string operator()(int64_t value) const { return fmt::format("{}", value); }
  std::string operator()(double value) const { return float_text(value); }
  std::string operator()(const std::string& value) const { return fmt::format("\"{}\"", value); }
  std::string operator()(const std::vector<int64_t>& value) const {
    return fmt::format("[{}]", fmt::join(value, ","));
  }
  std::string operator()(const std::vector<double>& values) const {
    std::string text;
    for (double value : values) text += (text.empty() ? "" : ",") + float_text(value);
    return "[" + text + "]";
  }
};

}  // namespace

Attributes::Attributes(std::initializer_list<Entry> entries) {
  for (const Entry& entry : entries) set(entry.first, entry.second);
}

void Attributes::set(std::string name, AttributeValue value) {
  auto at =
      std::lower_bound(entries_.begin(), entries_.end(), name,
                       [](const Entry& entry, const std::string& n) { return entry.first < n; });
  if (at != entries_.end() && at->first == name) {
    at->second = std::move(value);
  } else {
    entries_.emplace(at, std::move(name), std::move(value));
  }
}

const AttributeValue* Attributes::find(std::string_view name) const {
  for (const Entry& entry : entries_) {
    if (entry.first == name) return &entry.second;
  }
  return nullptr;
}

template <typename T>
const T& Attributes::get(std::string_view name) const {
  const AttributeValue* value = find(name);
  if (value == nullptr || !std::holds_alternative<T>(*value)) {
    fail(ErrorKind::Internal, "attribute {} is absent or of another type", name);
  }
  return std::get<T>(*value);
}

int64_t Attributes::integer(std::string_view name) const {
  return get<int64_t>(name);
}
double Attributes::number(std::string_view name) const {
  return get<double>(name);
}
const std::string& Attributes::text(std::string_view name) const {
  return get<std::string>(name);
}
const std::vector<int64_t>& Attributes::integers(std::string_view name) const {
  return get<std::vector<int64_t>>(name);
}
const std::vector<double>& Attributes::numbers(std::string_view name) const {
  return get<std::vector<double>>(name);
}

std::string to_string(const Attributes& attributes) {
  if (attributes.entries().empty()) return "";
  std::string text;
  for (const auto& [name, value] : attributes.entries()) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", name, std::visit(Printer{}, value));
  }
  return "{" + text + "}";
}

}  // namespace pounce
