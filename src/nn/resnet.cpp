#include "nn/resnet.h"

#include <fmt/format.h>

namespace pounce {
namespace {

struct Block {
  std::string name;
  int64_t channels;  // of its 3x3 convolution
  int64_t out_channels;
  int64_t stride;
};

Value shortcut(Layers& layers, const Block& block, Value x, bool projected) {
  if (!projected) return x;
  Value y = layers.conv(block.name + ".downsample.0", x, block.out_channels,
                        {.kernel = 1, .stride = block.stride});
  return layers.batch_norm(block.name + ".downsample.1", y);
}

Value basic_block(Layers& layers, const Block& block, Value x, bool projected) {
  Value y = layers.conv(block.name + ".conv1", x, block.channels,
                        {.kernel = 3, .stride = block.stride, .padding = 1});
  y = layers.relu(layers.batch_norm(block.name + ".bn1", y));
  y = layers.conv(block.name + ".conv2", y, block.channels, {.kernel = 3, .padding = 1});
  y = layers.batch_norm(block.name + ".bn2", y);
  return layers.relu(layers.add(y, shortcut(layers, block, x, projected)));
}

Value bottleneck_block(Layers& layers, const Block& block, Value x, bool projected) {
  Value y = layers.conv(block.name + ".conv1", x, block.channels, {.kernel = 1});
  y = layers.relu(layers.batch_norm(block.name + ".bn1", y));
  y = layers.conv(block.name + ".conv2", y, block.channels,
                  {.kernel = 3, .stride = block.stride, .padding = 1});
  y = layers.relu(layers.batch_norm(block.name + ".bn2", y));
  y = layers.conv(block.name + ".conv3", y, block.out_channels, {.kernel = 1});
  y = layers.batch_norm(block.name + ".bn3", y);
  return layers.relu(layers.add(y, shortcut(layers, block, x, projected)));
}

}  // namespace

Network build_resnet(const ResNetSpec& spec, Graph& graph, Value images, int64_t classes,
                     bool training) {
  Layers layers(graph, training);
  int64_t expansion = spec.bottleneck ? 4 : 1;
  Value x = layers.conv("conv1", images, spec.width, {.kernel = 7, .stride = 2, .padding = 3});
  x = layers.relu(layers.batch_norm("bn1", x));
  x = layers.max_pool(x, {.kernel = 3, .stride = 2, .padding = 1});
  for (size_t stage = 0; stage < 4; ++stage) {
    for (int i = 0; i < spec.blocks[stage]; ++i) {
      int64_t channels = spec.width << stage;
      Block block{fmt::format("layer{}.{}", stage + 1, i), channels, channels * expansion,
                  stage > 0 && i == 0 ? 2 : 1};
      bool projected = block.stride != 1 || graph.shape(x)[3] != block.out_channels;
      x = spec.bottleneck ? bottleneck_block(layers, block, x, projected)
                          : basic_block(layers, block, x, projected);
    }
  }
  Value logits = layers.linear("fc", layers.global_avg_pool(x), classes);
  return {logits, layers.take_state()};
}

}  // namespace pounce
