// The training step of a device against the reference backend: the same graph, images and weights
// on both, and how far losses and every tensor of the state are apart afterwards.
#pragma once

#include <map>
#include <stop_token>
#include <string>
#include <vector>

#include "pounce/bench.h"
#include "train/device.h"
#include "train/step.h"

namespace pounce {

// What an update left behind.
struct StepState {
  // Of the update and of the one after it, in the order of the images: the latter tell whether the
  // updated weights are in use.
  std::vector<float> losses;
  // Weights, statistics, gradients (`gradient.*`) and moments (`optimizer.*`) by name, after the
  // first update: later ones would compare what rounding has grown to.
  std::map<std::string, std::vector<float>> tensors;
};

// Throws Interrupted, before either update, once `stop` is requested.
StepState run_updates(OpenDevice device, const StepSpec& spec, int batch,
                      const std::stop_token& stop = {});

// Errors of `found` against `expected`, which must have the same tensors. A tensor's error is
// |a - b| / max(|b|, share * |all of its family|), Euclidean norms, with a share of 1e-6 for
// weights and statistics and 1e-2 for gradients and for moments. NaN counts as infinite.
StepVerification compare_states(const StepState& found, const StepState& expected);

// Compares `device` with the reference on a few small images: two updates of resnet18 take the
// plain loops about two seconds on a core, those of resnet101 about ten.
// Throws Device when an error is above the tolerance, naming the tensor, and Interrupted.
StepVerification verify_step(OpenDevice device, StepSpec spec, const std::stop_token& stop = {});

// Throws Device unless both errors are within the tolerance. `device`: its name, for the message.
void check_verification(const StepVerification& verification, std::string_view device);

}  // namespace pounce
