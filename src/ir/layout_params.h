// The numbers of ops that move elements about, read off a node: shared by shape rules and backends.
#pragma once

#include "ir/broadcast.h"
#include "ir/graph.h"

namespace pounce {

// A tensor seen from one axis, as a row-major [outer, extent, inner].
struct AxisView {
  int64_t outer = 1, extent = 1, inner = 1;
};

// Throws InvalidArgument where `axis` is not below the rank.
AxisView axis_view(const Shape& shape, int64_t axis);

// x over y = transpose(x), whose axis i is x's axis permutation[i]; b is unused.
StridedWalk transpose_walk(const Graph& graph, const Node& node);

// Of reduce_sum, reduce_mean and reduce_max: x over a walk that visits it in memory order; a is
// the place in y, where reduced axes repeat.
StridedWalk reduce_walk(const Shape& x, const std::vector<int64_t>& axes);

// Elements of x behind one of y.
int64_t reduced_elements(const Shape& x, const std::vector<int64_t>& axes);

// `shape` with an extent of 1 at each of `axes`, or without them.
Shape reduced_shape(const Shape& shape, const std::vector<int64_t>& axes, bool keep_dims);

}  // namespace pounce
