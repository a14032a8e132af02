#include "nn/cnn.h"

#include <fmt/format.h>

namespace pounce {

Network build_cnn(const CnnSpec& spec, Graph& graph, Value images, int64_t classes, bool training) {
  constexpr int kStages = 4, kModulesOfAStage = 3;
  Layers layers(graph, training);
  Value x = images;
  for (int stage = 0; stage < kStages; ++stage) {
    int first = kModulesOfAStage * stage;
    x = layers.conv(fmt::format("features.{}", first), x, spec.width << stage,
                    {.kernel = 3, .stride = stage == 0 ? 1 : 2, .padding = 1});
    x = layers.relu(layers.batch_norm(fmt::format("features.{}", first + 1), x));
  }
  Value logits = layers.linear("fc", layers.global_avg_pool(x), classes);
  return {logits, layers.take_state()};
}

}  // namespace pounce
