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
  double clip_norm = 0;     // largest norm of the mean gradient; 0: no limit
  double ema_decay = 0;     // of the averaged weights; 0: none are kept
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

// The variable that averages `name`.
std::string ema_variable(const std::string& name);

// Appends the moving average of `entry`, whose value after this update is `value`, and stores it.
void add_moving_average(Graph& graph, double decay, const StateEntry& entry, Value value,
                        const UpdateScalars& scalars);

}  // namespace pounce
