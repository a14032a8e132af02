// Residual networks as torchvision defines them, with its parameter names.
// Source: He et al. 2016; the bottleneck strides in its 3x3 convolution (ResNet v1.5).
#pragma once

#include <array>

#include "nn/network.h"

namespace pounce {

struct ResNetSpec {
  bool bottleneck = false;  // else two 3x3 convolutions a block
  std::array<int, 4> blocks = {2, 2, 2, 2};
  int64_t width = 64;  // channels of the first stage; torchvision's is 64
};

Network build_resnet(const ResNetSpec& spec, Graph& graph, Value images, int64_t classes,
                     bool training);

}  // namespace pounce
