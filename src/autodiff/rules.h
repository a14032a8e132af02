// Gradient rules, one file per op family as in src/ir/ops.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace pounce {

// What a rule sees. It appends nodes to `graph` and returns one gradient per input of the node;
// an invalid value where `needed` says no or the input has no gradient.
struct VjpContext {
  Graph& graph;
  const Node& node;
  const std::vector<Value>& grad_outputs;  // invalid: nothing depends on that output
  const std::vector<char>& needed;         // by input
};

using VjpRule = std::vector<Value> (*)(const VjpContext&);

// Null: the op has no gradient.
VjpRule find_rule(OpKind op);

std::vector<Value> add_vjp(const VjpContext& context);
std::vector<Value> mul_vjp(const VjpContext& context);
std::vector<Value> relu_vjp(const VjpContext& context);
std::vector<Value> sub_vjp(const VjpContext& context);
std::vector<Value> div_vjp(const VjpContext& context);
std::vector<Value> max_vjp(const VjpContext& context);
std::vector<Value> min_vjp(const VjpContext& context);
std::vector<Value> neg_vjp(const VjpContext& context);
std::vector<Value> exp_vjp(const VjpContext& context);
std::vector<Value> log_vjp(const VjpContext& context);
// Of those with an op of their own for it, over the output's gradient and y or x.
std::vector<Value> unary_vjp(const VjpContext& context);
std::vector<Value> copy_vjp(const VjpContext& context);
std::vector<Value> cast_vjp(const VjpContext& context);
std::vector<Value> matmul_vjp(const VjpContext& context);
std::vector<Value> bias_add_vjp(const VjpContext& context);
std::vector<Value> batch_matmul_vjp(const VjpContext& context);
std::vector<Value> reshape_vjp(const VjpContext& context);
std::vector<Value> transpose_vjp(const VjpContext& context);
std::vector<Value> slice_vjp(const VjpContext& context);
std::vector<Value> pad_vjp(const VjpContext& context);
std::vector<Value> concat_vjp(const VjpContext& context);
std::vector<Value> broadcast_vjp(const VjpContext& context);
std::vector<Value> reduce_sum_vjp(const VjpContext& context);
std::vector<Value> reduce_mean_vjp(const VjpContext& context);
std::vector<Value> reduce_max_vjp(const VjpContext& context);
std::vector<Value> softmax_vjp(const VjpContext& context);
std::vector<Value> conv2d_vjp(const VjpContext& context);
std::vector<Value> batch_norm_vjp(const VjpContext& context);
std::vector<Value> layer_norm_vjp(const VjpContext& context);
std::vector<Value> max_pool_vjp(const VjpContext& context);
std::vector<Value> global_avg_pool_vjp(const VjpContext& context);
std::vector<Value> avg_pool_vjp(const VjpContext& context);
std::vector<Value> cross_entropy_vjp(const VjpContext& context);

// Shapes are copies: a graph that grows moves its own.
// The gradient of a value of shape `shape` that was broadcast to that of `gradient`.
Value sum_to_shape(Graph& graph, Value gradient, Shape shape);
// `value` with another shape; itself where it has that.
Value reshaped(Graph& graph, Value value, Shape shape);
// For the attributes that hold a shape.
std::vector<int64_t> extents_of(const Shape& shape);

}  // namespace pounce
