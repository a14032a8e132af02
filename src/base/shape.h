// The extents of a tensor, rank 0 to 6, row-major. A value type without allocation.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace pounce {

class Shape {
 public:
  static constexpr int kMaxRank = 6;

  Shape() = default;  // a scalar
  // Throws InvalidArgument beyond rank 6, for a negative extent and beyond 2^48 elements.
  Shape(std::initializer_list<int64_t> extents);
  explicit Shape(std::span<const int64_t> extents);

  int rank() const { return rank_; }
  // Throws Internal when `axis` is outside 0..rank-1.
  int64_t operator[](int axis) const;
  std::span<const int64_t> extents() const { return {extents_.data(), size_t(rank_)}; }

  // Number of elements; 1 for a scalar.
  int64_t elements() const;

  bool operator==(const Shape& other) const = default;

 private:
  std::array<int64_t, kMaxRank> extents_{};
  int rank_ = 0;
};

// "[64,3,3,32]"; "[]" for a scalar.
std::string to_string(const Shape& shape);

}  // namespace pounce
