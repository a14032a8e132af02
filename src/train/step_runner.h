// A network on a device: its training steps and its evaluation over one set of weights. Knows
// batches as bytes; which images they are, and when to stop, is for the caller.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "backend/communicator.h"
#include "engine/session.h"
#include "train/device.h"
#include "train/init_file.h"
#include "train/model_file.h"
#include "train/precision.h"
#include "train/step.h"

namespace pounce {

struct StepResult {
  std::vector<float> losses;   // one an image, as weighted
  std::vector<int32_t> ranks;  // classes that score above the label: 0 is correct
};

// The first number that was not finite; from then on updates change nothing.
struct NonFinite {
  std::string tensor;         // "logits", "loss", "the gradient of fc.weight"
  std::optional<size_t> row;  // of the batch, where the tensor has a row an image
};

// Of fp16; elsewhere the scale is 1 and nothing is skipped.
struct LossScaleState {
  float scale = 1;
  int64_t good = 0;      // updates since it changed
  int64_t skipped = 0;   // updates, for their gradients overflowed
  int64_t in_a_row = 0;  // of these, up to the last one
};

class StepRunner {
 public:
  // Plans and compiles a training program for each size of `train_sizes` and an evaluation for each
  // of `evaluation_sizes`. Weights start as zeros. Throws as Session does, and InvalidArgument,
  // naming the layer, where the images are too small for the network.
  StepRunner(OpenDevice device, StepSpec spec, const std::set<int>& train_sizes,
             const std::set<int>& evaluation_sizes);

  static std::string train_program(int batch);

  const StepSpec& spec() const { return spec_; }
  const OpenDevice& device() const { return device_; }
  const std::vector<StateEntry>& state() const { return state_; }
  int64_t parameters() const;  // trained numbers
  Session& session() { return *session_; }

  // Fresh weights, a pure function of the seed, where `start` is null or has none; moving averages
  // start equal to them. Throws as StartWeights::values does.
  void initialize(uint64_t seed, int threads, const StartWeights* start = nullptr);
  // As many as StepSpec::updates.
  void set_learning_rates(const std::vector<float>& rates);

  bool has_train_size(int batch) const;
  // Throws InvalidArgument where the network cannot train on so few images: its last maps may hold
  // one value a channel, which has no variance. The runner goes on without the size.
  void add_train_size(int batch);

  // One update. images [n, S, S, 3], labels [n] in range, weights [n]; n is a size it has.
  StepResult train(std::span<const uint8_t> images, const std::vector<int32_t>& labels,
                   const std::vector<float>& weights);
  // Of all updates so far.
  std::optional<NonFinite> non_finite();
  // Updates that were applied: neither skipped nor stopped.
  int64_t applied_updates();
  LossScaleState loss_scale();
  // What every layer computes of these images, with the weights and the loss scale there are. Adds
  // a program. Throws as Session::add_program.
  OverflowReport measure_ranges(std::span<const uint8_t> images, const std::vector<int32_t>& labels,
                                const std::vector<float>& weights);
  // Goes on in another precision with all of its state; a set stop flag is cleared. Everything is
  // planned and compiled anew. Throws as the constructor; the runner cannot be used then.
  void change_precision(DType dtype);
  // Logits [n, classes] of images [n, S, S, 3]. Adds the program for a new size.
  std::vector<float> evaluate(std::span<const uint8_t> images, int batch);

 private:
  std::unique_ptr<Session> make_session();

  StepSpec spec_;
  OpenDevice device_;
  SingleProcess communicator_;
  std::set<int> train_sizes_, evaluation_sizes_;
  std::vector<StateEntry> state_;
  std::unique_ptr<Session> session_;
};

}  // namespace pounce
