// Reverse-mode differentiation, graph to graph: appends the backward pass to a forward graph.
#pragma once

#include <span>
#include <vector>

#include "ir/graph.h"

namespace pounce {

// Appends the nodes that compute the gradients of sum_i <cotangents[i], outputs[i]> with respect to
// each of `wanted`, and returns these, in the order of `wanted`, each of its value's type (zeros
// where nothing depends on it). Only what is needed is built. Shapes of cotangents equal those of
// outputs. Throws Internal where a gradient would have to pass an op that has no rule.
std::vector<Value> gradients(Graph& graph, std::span<const Value> outputs,
                             std::span<const Value> cotangents, std::span<const Value> wanted);

// Whether a gradient can pass through the op.
bool is_differentiable(OpKind op);

}  // namespace pounce
