// One valid node of every op but the leaves: what tests of the table, the text form and the
// verifier start from.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace pounce {

struct SampleNode {
  OpKind op;
  std::vector<TensorType> inputs;
  Attributes attributes = {};  // those without a default at least
};

// In the order of OpKind; every op of the table but input and variable.
std::span<const SampleNode> sample_nodes();
const SampleNode& sample_node(OpKind op);

// The node named "layer" over graph inputs "x0", "x1", ...; its outputs are outputs "y0", ...
// Throws what Graph::add throws.
Graph build_sample(OpKind op, const std::vector<TensorType>& inputs, const Attributes& attributes);
inline Graph build_sample(const SampleNode& sample) {
  return build_sample(sample.op, sample.inputs, sample.attributes);
}

}  // namespace pounce
