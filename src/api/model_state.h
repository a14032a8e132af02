// What a Model is a handle of. Its weights lie in a StepRunner's variables once something was
// computed, else on the host; a Trainer has the runner made anew with its programs.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "api/device_state.h"
#include "api/tensor_state.h"
#include "pounce/model.h"
#include "train/model_file.h"
#include "train/step_runner.h"

namespace pounce {

// Bytes of every state entry, in memory's layout, by name.
using Weights = std::map<std::string, std::vector<uint8_t>>;

struct ModelState {
  ModelState(ModelInfo model_info, NetworkBuilder network, std::shared_ptr<DeviceState> on);

  void initialize(uint64_t seed);

  // What the model computes with: averages where a Trainer keeps some.
  Weights weights();
  ModelFile file(const Weights& values) const;
  void write(const Weights& values);

  // Logits of images U8 [n, S, S, 3], on the device.
  Tensor evaluate(const TensorState& images);
  std::vector<float> evaluate(std::span<const uint8_t> images, int batch);

  // For a Trainer: a runner with its programs and the weights there are.
  void begin_training(const StepSpec& training_spec, const std::set<int>& train_sizes,
                      const std::set<int>& evaluation_sizes);
  // Gives everything on the device back.
  void end_training() noexcept;

  // With an evaluation for `batch` images.
  StepRunner& runner_for(int batch);
  bool has_averages() const;

  ModelInfo info;
  StepSpec spec;  // without a training's settings
  std::vector<StateEntry> entries;
  std::shared_ptr<DeviceState> device;
  Weights on_host;  // what no runner has: all, or counters that evaluation does not need
  std::unique_ptr<StepRunner> runner;  // freed before the device
  bool has_trainer = false;
};

}  // namespace pounce
