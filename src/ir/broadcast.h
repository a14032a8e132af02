// NumPy's broadcasting: axes are counted from the last; an extent of 1, or a missing axis, repeats.
#pragma once

#include <array>
#include <optional>

#include "base/shape.h"

namespace pounce {

// Nothing where an axis has two extents and neither is 1.
std::optional<Shape> broadcast_shapes(const Shape& a, const Shape& b);

// Whether `from` can be repeated into `to`.
bool broadcasts_to(const Shape& from, const Shape& to);

// A walk over a tensor in memory order beside up to two operands that may repeat or be permuted:
// as few axes as possible, extents of 1 dropped, neighbours merged where both operands allow it.
struct StridedWalk {
  int rank = 0;
  std::array<int64_t, Shape::kMaxRank> extents{};
  std::array<int64_t, Shape::kMaxRank> a_strides{}, b_strides{};  // in elements; 0: repeats

  // Extent and strides of the last axis; one element where there is no axis.
  int64_t inner() const { return rank == 0 ? 1 : extents[size_t(rank - 1)]; }
  int64_t inner_a() const { return rank == 0 ? 0 : a_strides[size_t(rank - 1)]; }
  int64_t inner_b() const { return rank == 0 ? 0 : b_strides[size_t(rank - 1)]; }

  // Where the operands of row `row` (all axes but the last, in memory order) start.
  struct Offsets {
    int64_t a = 0, b = 0;
  };
  Offsets row_offsets(int64_t row) const;

  // Appends an axis behind those there are.
  void append(int64_t extent, int64_t a_stride, int64_t b_stride);
};

// Over `out` with operands of shapes that broadcast to it.
StridedWalk broadcast_walk(const Shape& out, const Shape& a, const Shape& b);

}  // namespace pounce
