#include "ir/broadcast.h"

#include <algorithm>
#include <vector>

#include "base/error.h"

namespace pounce {
namespace {

// Of the axis that is `from_last` steps before the last; 1 where there is none.
int64_t extent_from_last(const Shape& shape, int from_last) {
  return from_last < shape.rank() ? shape[shape.rank() - 1 - from_last] : 1;
}

// Stride of each axis of `out` in an operand of `shape`: 0 where it repeats.
std::vector<int64_t> strides_within(const Shape& out, const Shape& shape) {
  std::vector<int64_t> strides(size_t(out.rank()));
  int64_t stride = 1;
  for (int i = 0; i < shape.rank(); ++i) {
    int64_t extent = extent_from_last(shape, i);
    strides[size_t(out.rank() - 1 - i)] = extent == 1 ? 0 : stride;
    stride *= extent;
  }
  return strides;
}

}  // namespace

std::optional<Shape> broadcast_shapes(const Shape& a, const Shape& b) {
  int rank = std::max(a.rank(), b.rank());
  std::vector<int64_t> extents(static_cast<size_t>(rank));
  for (int i = 0; i < rank; ++i) {
    int64_t of_a = extent_from_last(a, i), of_b = extent_from_last(b, i);
    if (of_a != of_b && of_a != 1 && of_b != 1) return std::nullopt;
    extents[size_t(rank - 1 - i)] = of_a == 1 ? of_b : of_a;
  }
  return Shape(extents);
}

bool broadcasts_to(const Shape& from, const Shape& to) {
  if (from.rank() > to.rank()) return false;
  for (int i = 0; i < from.rank(); ++i) {
    int64_t extent = extent_from_last(from, i);
    if (extent != 1 && extent != extent_from_last(to, i)) return false;
  }
  return true;
}

void StridedWalk::append(int64_t extent, int64_t a_stride, int64_t b_stride) {
  if (extent == 1) return;
  if (rank > 0) {
    size_t last = size_t(rank - 1);
    bool same_line = a_strides[last] == a_stride * extent && b_strides[last] == b_stride * extent;
    if (same_line) {
      extents[last] *= extent;
      a_strides[last] = a_stride, b_strides[last] = b_stride;
      return;
    }
  }
  POUNCE_ASSERT(rank < Shape::kMaxRank);
  extents[size_t(rank)] = extent;
  a_strides[size_t(rank)] = a_stride, b_strides[size_t(rank)] = b_stride;
  ++rank;
}

StridedWalk::Offsets StridedWalk::row_offsets(int64_t row) const {
  Offsets offsets;
  for (int axis = rank - 2; axis >= 0; --axis) {
    int64_t at = row % extents[size_t(axis)];
    row /= extents[size_t(axis)];
    offsets.a += at * a_strides[size_t(axis)];
    offsets.b += at * b_strides[size_t(axis)];
  }
  return offsets;
}

StridedWalk broadcast_walk(const Shape& out, const Shape& a, const Shape& b) {
  std::vector<int64_t> of_a = strides_within(out, a), of_b = strides_within(out, b);
  StridedWalk walk;
  for (int axis = 0; axis < out.rank(); ++axis) {
    walk.append(out[axis], of_a[size_t(axis)], of_b[size_t(axis)]);
  }
  return walk;
}

}  // namespace pounce
