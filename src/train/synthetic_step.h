// The training step on synthetic images: what `bench step` times and verifies, run exactly as a
// training runs it.
#pragma once

#include <vector>

#include "backend/communicator.h"
#include "engine/session.h"
#include "train/step.h"

namespace pounce {

class SyntheticStep {
 public:
  // A session with the fused step of `batch` images, fresh weights and random images. `backend` is
  // not owned and must outlive the runner. Equal arguments give equal images and weights on every
  // backend. Throws what Session does.
  SyntheticStep(Backend& backend, const StepSpec& spec, int batch);

  // Uploads the images, computes an update, downloads what a training reads. Returns the loss of
  // each image. Throws Diverged when the stop flag is set.
  std::vector<float> step();

  Session& session() { return session_; }

 private:
  StepSpec spec_;
  SingleProcess alone_;
  Session session_;
  std::vector<uint8_t> images_;
  std::vector<int32_t> labels_;
  std::vector<float> weights_;
  float divisor_;
};

}  // namespace pounce
