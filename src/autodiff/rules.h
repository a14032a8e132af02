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
std::vector<Value> copy_vjp(const VjpContext& context);
std::vector<Value> matmul_vjp(const VjpContext& context);
std::vector<Value> bias_add_vjp(const VjpContext& context);
std::vector<Value> conv2d_vjp(const VjpContext& context);
std::vector<Value> batch_norm_vjp(const VjpContext& context);
std::vector<Value> max_pool_vjp(const VjpContext& context);
std::vector<Value> global_avg_pool_vjp(const VjpContext& context);
std::vector<Value> cross_entropy_vjp(const VjpContext& context);

}  // namespace pounce
