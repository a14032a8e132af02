#include "backend/kernels/walk.h"

#include <algorithm>

namespace pounce::kernels {

std::vector<int64_t> contiguous_strides(const Shape& shape) {
  std::vector<int64_t> strides(size_t(shape.rank()));
  int64_t stride = 1;
  for (int axis = shape.rank(); axis-- > 0;) {
    strides[size_t(axis)] = stride;
    stride *= shape[axis];
  }
  return strides;
}

std::vector<int64_t> broadcast_strides(const Shape& out, const Shape& operand) {
  std::vector<int64_t> own = contiguous_strides(operand);
  std::vector<int64_t> strides(size_t(out.rank()));
  int missing = out.rank() - operand.rank();
  for (int axis = missing; axis < out.rank(); ++axis) {
    strides[size_t(axis)] = operand[axis - missing] == 1 ? 0 : own[size_t(axis - missing)];
  }
  return strides;
}

OperandWalk::OperandWalk(const Shape& shape, const std::vector<std::vector<int64_t>>& operands)
    : strides(operands.size()) {
  for (int axis = 0; axis < shape.rank(); ++axis) {
    int64_t extent = shape[axis];
    if (extent == 1) continue;
    bool same_line = !extents.empty();
    for (size_t i = 0; i < operands.size() && same_line; ++i) {
      same_line = strides[i].back() == operands[i][size_t(axis)] * extent;
    }
    if (!same_line) extents.push_back(1);
    extents.back() *= extent;
    for (size_t i = 0; i < operands.size(); ++i) {
      if (!same_line) strides[i].push_back(0);
      strides[i].back() = operands[i][size_t(axis)];
    }
  }
}

bool OperandWalk::is_flat() const {
  if (rank() == 0) return true;
  return rank() == 1 &&
         std::all_of(strides.begin(), strides.end(), [](const auto& own) { return own[0] == 1; });
}

}  // namespace pounce::kernels
