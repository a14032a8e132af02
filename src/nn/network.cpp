#include "nn/network.h"

#include <cmath>

#include "base/checksum.h"
#include "base/error.h"
#include "base/random.h"
#include "nn/cnn.h"
#include "nn/resnet.h"

namespace pounce {
namespace {

constexpr std::string_view kNames[] = {"cnn", "resnet18", "resnet34", "resnet50", "resnet101"};

}  // namespace

std::span<const std::string_view> network_names() {
  return kNames;
}

Network build_network(std::string_view model, Graph& graph, Value images, int64_t classes,
                      bool training) {
  if (model == "cnn") return build_cnn({}, graph, images, classes, training);
  ResNetSpec spec;
  if (model == "resnet18") {
    spec = {.bottleneck = false, .blocks = {2, 2, 2, 2}};
  } else if (model == "resnet34") {
    spec = {.bottleneck = false, .blocks = {3, 4, 6, 3}};
  } else if (model == "resnet50") {
    spec = {.bottleneck = true, .blocks = {3, 4, 6, 3}};
  } else if (model == "resnet101") {
    spec = {.bottleneck = true, .blocks = {3, 4, 23, 3}};
  } else {
    fail(ErrorKind::Config, "unknown model \"{}\", expected one of: {}", model,
         fmt::join(kNames, ", "));
  }
  return build_resnet(spec, graph, images, classes, training);
}

std::vector<float> initial_values(const StateEntry& entry, uint64_t seed) {
  POUNCE_ASSERT(entry.type.dtype == DType::F32);
  std::vector<float> values(size_t(entry.type.shape.elements()));
  RandomStream random(seed, RandomPurpose::Init, 0, xxh3_64(entry.name));
  double std = std::sqrt(2.0 / entry.fan);
  double bound = 1.0 / std::sqrt(entry.fan);
  for (float& value : values) {
    switch (entry.init) {
      case InitRule::Zeros:
        value = 0;
        break;
      case InitRule::Ones:
        value = 1;
        break;
      case InitRule::KaimingNormal:
        value = float(std * random.normal());
        break;
      case InitRule::UniformFanIn:
        value = float(random.uniform(-bound, bound));
        break;
    }
  }
  return values;
}

}  // namespace pounce
