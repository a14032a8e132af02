// The network for small images: four 3x3 convolutions, each with batch normalisation and ReLU, all
// but the first of stride 2, so that the last sees 31 pixels; the mean over the map; linear.
#pragma once

#include "nn/network.h"

namespace pounce {

struct CnnSpec {
  int64_t width = 32;  // channels of the first convolution; each further one has twice as many
};

// images: N,H,W,3 F32, normalised. Names as torch.nn.Sequential gives them: features.0, features.1.
Network build_cnn(const CnnSpec& spec, Graph& graph, Value images, int64_t classes, bool training);

}  // namespace pounce
