// The training step on synthetic images: what `bench step` times and verifies, run by the very
// StepRunner that trains.
#pragma once

#include <stop_token>
#include <vector>

#include "train/step_runner.h"

namespace pounce {

class SyntheticStep {
 public:
  // Fresh weights and `batch` random images. Equal arguments give equal images and weights on every
  // device. Throws what StepRunner does.
  SyntheticStep(OpenDevice device, const StepSpec& spec, int batch);

  // Uploads the images, computes an update, downloads what a training reads. Returns the loss of
  // each image. Throws Interrupted, before it begins, once `stop` is requested, and Diverged where
  // a number is not finite.
  std::vector<float> step(const std::stop_token& stop = {});

  StepRunner& runner() { return runner_; }

 private:
  StepRunner runner_;
  std::vector<uint8_t> images_;
  std::vector<int32_t> labels_;
  std::vector<float> weights_;
};

}  // namespace pounce
