// The programs of a training: `accumulate` (one micro-batch: forward, backward, add into the
// gradients), `update` (check, optimizer), both in one where an update has one micro-batch, and
// evaluation. Everything that changes between steps is a device scalar or an input.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "nn/network.h"
#include "train/optimizer.h"

namespace pounce {

// Appends a network to a graph; what `build_network` does for a name.
using NetworkBuilder =
    std::function<Network(Graph& graph, Value images, int64_t classes, bool training)>;

// Appends a loss: logits N,K and targets N,K to the loss of each image, F32 N, before its weight.
using LossBuilder = std::function<Value(Graph& graph, Value logits, Value targets)>;

// Of fp16 (see the op loss_scale): powers of two.
struct LossScaleSettings {
  float start = 65536;
  int64_t growth_interval = 2000;  // good updates before it doubles
};

struct StepSpec {
  NetworkBuilder network;
  LossBuilder loss;  // null: cross-entropy
  int64_t classes = 2;
  int64_t image_size = 224;
  std::array<double, 3> mean = {0.485, 0.456, 0.406};
  std::array<double, 3> std = {0.229, 0.224, 0.225};
  double label_smoothing = 0;
  OptimizerSettings optimizer;
  int64_t updates = 1;  // length of the learning-rate table
  // Of products and activations; whoever makes a Session hands it to its passes, too. With F16 the
  // step scales its loss and skips updates whose gradients overflow.
  DType precision = DType::F32;
  LossScaleSettings loss_scale;
};

// Names of the programs' inputs, variables and outputs.
namespace names {
inline constexpr char kImages[] = "images";                  // input U8 N,S,S,3
inline constexpr char kLabels[] = "labels";                  // input I32 N
inline constexpr char kSampleWeights[] = "sample_weights";   // input F32 N
inline constexpr char kDivisor[] = "divisor";                // input F32: samples of the update
inline constexpr char kLearningRates[] = "learning_rates";   // variable F32, by update
inline constexpr char kUpdates[] = "updates";                // variable I64: applied so far
inline constexpr char kStop[] = "stop";                      // variable I64[2]: see check_finite
inline constexpr char kLossScale[] = "loss_scale";           // variable F32: see loss_scale
inline constexpr char kScaleCounts[] = "loss_scale_counts";  // variable I64[3]: see loss_scale
inline constexpr char kLogits[] = "logits";                  // output F32 N,classes
inline constexpr char kLoss[] = "loss";                      // output F32 N
inline constexpr char kRank[] = "rank";                      // output I32 N: 0 is correct
}  // namespace names

// Inputs images, labels, sample_weights, divisor; outputs loss, rank, logits. Gradients pass
// through their variables (`gradient.<name>`), so that they lie contiguous.
Graph build_fused_step(const StepSpec& spec, int64_t batch);
// The same without divisor and update: gradients are added to their variables.
Graph build_accumulate(const StepSpec& spec, int64_t batch);
// Input divisor. Applies the gradients and sets them to zero.
Graph build_update(const StepSpec& spec);
// Inputs images, labels, sample_weights; changes nothing. Outputs the largest magnitude of what
// each layer of the training's graph computes, F32, in order: "forward <layer>", then "backward
// <layer>".
Graph build_range_check(const StepSpec& spec, int64_t batch);
// Input images; output logits. With the averaged weights where the optimizer keeps some.
Graph build_evaluation(const StepSpec& spec, int64_t batch);

// The network's entries, for saving and loading; `variable`s belong to no graph in use.
std::vector<StateEntry> network_state(const StepSpec& spec);

// What the stop flag's tag stands for: "logits", "loss", the parameter whose gradient it
// is, or the norm of all gradients.
std::string describe_stop_tag(const StepSpec& spec, int64_t tag);

}  // namespace pounce
