// Mixed precision as a rewrite of a whole step, run on the graph as autodiff and the optimizer left
// it: what is computed and stored in half, by the op table's classes.
//
// Convolutions and matrix products compute in half, and what follows them (normalisation,
// activation, pooling, sums of branches) goes on in half, so that activations and their gradients
// are stored so. In f32 stay: variables (weights are cast anew for each reader), what a store or an
// output takes, gradients of weights, statistics, losses, softmax, optimizers, whatever reads the
// state of gradients and optimizers, and the last layer: a product that reaches an output through
// no other product, with the nodes that carry its name, which are its gradients.
#pragma once

#include "ir/graph.h"

namespace pounce {

// A pure function. `dtype`: F16 or BF16; F32 returns the graph as it is. Inputs, variables, stores
// and outputs keep their names and types. Values that are not F32 are left alone.
Graph autocast(const Graph& graph, DType dtype);

}  // namespace pounce
