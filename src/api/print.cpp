// Tensors as text, in NumPy's manner.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <ostream>

#include "api/tensor_state.h"

namespace pounce {
namespace {

constexpr int64_t kMostPrinted = 1000;  // elements; larger tensors are shortened
constexpr int64_t kEdge = 3;            // entries of an axis kept at either end

template <typename T>
T element(std::span<const std::byte> bytes, int64_t index) {
  T value;
  std::memcpy(&value, bytes.data() + size_t(index) * sizeof(T), sizeof(T));
  return value;
}

float from_half(uint16_t bits) {
  int exponent = (bits >> 10) & 31, fraction = bits & 1023;
  float magnitude = exponent == 0    ? std::ldexp(float(fraction), -24)
                    : exponent == 31 ? (fraction == 0 ? std::numeric_limits<float>::infinity()
                                                      : std::numeric_limits<float>::quiet_NaN())
                                     : std::ldexp(float(fraction + 1024), exponent - 25);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

float from_bfloat(uint16_t bits) {
  uint32_t wide = uint32_t(bits) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}

class Printer {
 public:
  explicit Printer(const TensorState& tensor) : tensor_(tensor), bytes_(read_bytes(tensor)) {}

  std::string text() const {
    std::string text = summary();
    if (tensor_.elements == 0) return text;
    text += '\n';
    bool is_short = tensor_.elements <= kMostPrinted;
    size_t width = 0;
    visit(0, 0, is_short, [&](int64_t at) { width = std::max(width, format(at).size()); });
    append(text, 0, 0, is_short, width);
    return text;
  }

  std::string summary() const {
    double low = std::numeric_limits<double>::infinity(), high = -low, sum = 0;
    int64_t nan = 0, infinite = 0, finite = 0;
    for (int64_t i = 0; i < tensor_.elements; ++i) {
      double value = number(i);
      nan += std::isnan(value) ? 1 : 0;
      infinite += std::isinf(value) ? 1 : 0;
      if (!std::isfinite(value)) continue;
      ++finite;
      sum += value;
      low = std::min(low, value);
      high = std::max(high, value);
    }
    std::string text = describe(tensor_);
    if (finite > 0) {
      text += fmt::format(", min {:.5g}, max {:.5g}, mean {:.5g}", low, high, sum / double(finite));
    }
    return text + fmt::format(", NaN {}, Inf {}", nan, infinite);
  }

 private:
  double number(int64_t index) const {
    switch (tensor_.dtype) {
      case DType::F64:
        return element<double>(bytes_, index);
      case DType::F32:
        return element<float>(bytes_, index);
      case DType::F16:
        return from_half(element<uint16_t>(bytes_, index));
      case DType::BF16:
        return from_bfloat(element<uint16_t>(bytes_, index));
      case DType::I64:
        return double(element<int64_t>(bytes_, index));
      case DType::I32:
        return element<int32_t>(bytes_, index);
      case DType::U8:
        return element<uint8_t>(bytes_, index);
    }
    return 0;
  }

  std::string format(int64_t index) const {
    if (tensor_.dtype == DType::I64) return fmt::format("{}", element<int64_t>(bytes_, index));
    bool is_whole = tensor_.dtype == DType::I32 || tensor_.dtype == DType::U8;
    return is_whole ? fmt::format("{:.0f}", number(index)) : fmt::format("{:.5g}", number(index));
  }

  // Entries of `axis` that are shown: calls body(i), and gap() where some are left out.
  template <typename Body, typename Gap>
  void each_entry(size_t axis, bool is_short, const Body& body, const Gap& gap) const {
    int64_t extent = tensor_.shape[axis];
    for (int64_t i = 0; i < extent; ++i) {
      if (!is_short && extent > 2 * kEdge && i == kEdge) {
        gap();
        i = extent - kEdge;
      }
      body(i);
    }
  }

  template <typename Body>
  void visit(size_t axis, int64_t at, bool is_short, const Body& body) const {
    if (axis == tensor_.shape.size()) return body(at);
    each_entry(
        axis, is_short,
        [&](int64_t i) { visit(axis + 1, at * tensor_.shape[axis] + i, is_short, body); }, [] {});
  }

  void append(std::string& text, size_t axis, int64_t at, bool is_short, size_t width) const {
    if (axis == tensor_.shape.size()) {
      text += fmt::format("{:>{}}", format(at), width);
      return;
    }
    bool is_row = axis + 1 == tensor_.shape.size();
    std::string separator = is_row ? " " : "\n" + std::string(axis + 1, ' ');
    bool is_first = true;
    auto separate = [&] {
      if (!is_first) text += separator;
      is_first = false;
    };
    text += '[';
    each_entry(
        axis, is_short,
        [&](int64_t i) {
          separate();
          append(text, axis + 1, at * tensor_.shape[axis] + i, is_short, width);
        },
        [&] {
          separate();
          text += "...";
        });
    text += ']';
  }

  const TensorState& tensor_;
  std::vector<std::byte> bytes_;
};

}  // namespace

std::string Tensor::summary() const {
  return Printer(*Access::state(*this, "Tensor")).summary();
}

std::string to_string(const Tensor& tensor) {
  if (tensor.is_empty()) return "empty tensor";
  return Printer(*Access::state(tensor, "Tensor")).text();
}

std::ostream& operator<<(std::ostream& out, const Tensor& tensor) {
  return out << to_string(tensor);
}

}  // namespace pounce
