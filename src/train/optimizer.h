// Optimizers as graph nodes: the update of one parameter from the sum of its gradients.
#pragma once

#include "ir/graph.h"
#include "nn/layers.h"
#include "pounce/train.h"

namespace pounce {

struct OptimizerSettings {
  OptimizerKind kind = OptimizerKind::AdamW;
  double momentum = 0.9;                          // sgd
  bool nesterov = false;                          // sgd
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8;  // adam, adamw
  double weight_decay = 0;  // on entries that are `decayed`; AdamW's is decoupled
};

// Device scalars every update reads.
struct UpdateScalars {
  Value learning_rate;  // F32
  Value updates;        // I64: applied before this one
  Value divisor;        // F32: samples of the effective batch
  Value stop;           // set: keep everything
};

// Appends the update of `entry` from `gradient` and stores parameter and moments. Moments are
// variables `optimizer.<kind>.<name>` of role Optimizer, starting at zero.
void add_update(Graph& graph, const OptimizerSettings& settings, const StateEntry& entry,
                Value gradient, const UpdateScalars& scalars);

}  // namespace pounce
