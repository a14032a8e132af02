// An array of numbers, on the host or on a device.
//
//   pounce::Tensor t({2, 3}, std::vector<float>{1, 2, 3, 4, 5, 6});
//   std::cout << t.to(device) << '\n';
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pounce/device.h"
#include "pounce/dtype.h"
#include "pounce/export.h"

namespace pounce {

struct TensorState;

// What F64, F32, I64, I32 and U8 are in C++.
template <typename T>
concept TensorElement = std::same_as<T, double> || std::same_as<T, float> ||
    std::same_as<T, int64_t> || std::same_as<T, int32_t> || std::same_as<T, uint8_t>;

// A value whose elements never change: copies share the memory, which is freed with the last of
// them. Row-major, 0 to 6 axes. A default-constructed or moved-from Tensor is empty: it can be
// tested, printed, assigned and destroyed; anything else throws InvalidArgument.
class POUNCE_API Tensor {
 public:
  Tensor() = default;
  // On the host; takes the vector's memory over. Throws InvalidArgument for a shape of another
  // number of elements, of more than 6 axes, or with a negative extent.
  template <TensorElement T>
  Tensor(const std::vector<int64_t>& shape, std::vector<T> values);

  bool is_empty() const { return state_ == nullptr; }

  DType dtype() const;
  const std::vector<int64_t>& shape() const;
  // Of all axes together; 1 for a scalar.
  int64_t elements() const;
  int64_t bytes() const;
  // None: on the host.
  std::optional<Device> device() const;

  // The same numbers on `device`, or on the host; itself where it lies there already. Throws
  // OutOfMemory.
  Tensor to(const Device& device) const;
  Tensor to_host() const;

  // The first line of what << prints: all but the elements.
  std::string summary() const;

  // A copy of the elements, in row-major order, wherever they lie. Throws InvalidArgument where T
  // is not the dtype's.
  template <TensorElement T>
  std::vector<T> values() const;

 private:
  friend struct Access;
  std::shared_ptr<const TensorState> state_;
};

// Shape, dtype, device, minimum, maximum and mean of the finite elements, how many are NaN or
// infinite, then the elements as NumPy prints them: over 1000, the first and last 3 of every axis.
POUNCE_API std::ostream& operator<<(std::ostream& out, const Tensor& tensor);
// What << writes.
POUNCE_API std::string to_string(const Tensor& tensor);

}  // namespace pounce
