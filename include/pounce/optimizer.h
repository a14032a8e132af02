// How weights are updated: PyTorch's optimizers of the same names, and the learning rate over time.
#pragma once

#include <optional>
#include <variant>

#include "pounce/train.h"

namespace pounce {

// Weight decay applies to weights, not to norms and biases. A learning rate that is not given
// follows from the batch size: 1e-3 * sqrt(batch / 64), for Sgd 0.05 * batch / 64.

struct AdamW {
  std::optional<double> learning_rate = {};
  double weight_decay = 0.05;  // decoupled
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
};

struct Adam {
  std::optional<double> learning_rate = {};
  double weight_decay = 0;  // added to the gradient
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
};

struct Sgd {
  std::optional<double> learning_rate = {};
  double weight_decay = 5e-4;  // added to the gradient
  double momentum = 0.9;
  bool nesterov = false;
};

// One of them.
struct Optimizer : std::variant<AdamW, Adam, Sgd> {
  using std::variant<AdamW, Adam, Sgd>::variant;
};

// A linear warm-up to the learning rate, then by kind: half a cosine to 0, steps, or constant.
struct Schedule {
  ScheduleKind kind = ScheduleKind::Cosine;
  double warmup_epochs = 1;
  double step_epochs = 30;  // Step: epochs between two steps
  double step_gamma = 0.1;  // Step: factor of a step
};

}  // namespace pounce
