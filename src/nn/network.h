// The networks Pounce knows, by the names users type.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "nn/layers.h"

namespace pounce {

struct Network {
  Value logits;                   // N, classes
  std::vector<StateEntry> state;  // in torchvision's order
};

// Appends the network to `graph`. images: N,H,W,3 F32, normalised.
// Throws Config for an unknown name, proposing the known ones; InvalidArgument, naming the layer,
// where the images are too small for the network.
Network build_network(std::string_view model, Graph& graph, Value images, int64_t classes,
                      bool training);

// cnn, resnet18, resnet34, resnet50, resnet101.
std::span<const std::string_view> network_names();

// Values a fresh entry starts with, in memory order: a pure function of (seed, name).
// F32 entries only; num_batches_tracked starts at 0.
std::vector<float> initial_values(const StateEntry& entry, uint64_t seed);

}  // namespace pounce
