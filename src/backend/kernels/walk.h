// Which elements of several operands belong to each element of a tensor: axes with strides, as few
// as possible.
#pragma once

#include <cstdint>
#include <vector>

#include "base/shape.h"

namespace pounce::kernels {

// Strides of a tensor's axes in elements.
std::vector<int64_t> contiguous_strides(const Shape& shape);

// Strides of the axes of `out` in an operand of a shape that broadcasts to it; 0 where it repeats.
std::vector<int64_t> broadcast_strides(const Shape& out, const Shape& operand);

// A walk over a tensor in memory order: extents of 1 dropped, neighbours merged where all operands
// allow it.
struct OperandWalk {
  // `operands`: for each, the strides of the axes of `shape`.
  OperandWalk(const Shape& shape, const std::vector<std::vector<int64_t>>& operands);

  size_t rank() const { return extents.size(); }
  // All operands lie as the tensor itself.
  bool is_flat() const;

  std::vector<int64_t> extents;
  std::vector<std::vector<int64_t>> strides;  // by operand, then axis
};

}  // namespace pounce::kernels
