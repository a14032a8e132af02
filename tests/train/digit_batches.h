// Batches of the shipped digits, and the networks that tests of devices train on them.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "base/file.h"
#include "data/decode.h"
#include "nn/resnet.h"
#include "train/step.h"

namespace pounce::test {

constexpr int kBatch = 20;
constexpr int kSize = 8;  // of the shipped digits

struct Batch {
  std::vector<uint8_t> images;  // [kBatch, kSize, kSize, 3]
  std::vector<int32_t> labels;
};

// Batch `index` of the digits: two of each.
inline Batch digits(int index) {
  Batch batch;
  for (int i = 0; i < kBatch; ++i) {
    int digit = i % 10, number = index * 2 + i / 10;
    std::string folder = std::string(POUNCE_SOURCE_DIR "/samples/digits/") + std::to_string(digit);
    std::vector<DirectoryEntry> files = list_directory(folder).value();
    const std::string& name = files.at(size_t(number) % files.size()).name;
    Image image = decode_image(read_file(join_path(folder, name)).value()).value();
    if (image.width != kSize || image.height != kSize) throw std::runtime_error("not a digit");
    batch.images.insert(batch.images.end(), image.rgb.begin(), image.rgb.end());
    batch.labels.push_back(digit);
  }
  return batch;
}

// "cnn", or a narrow ResNet for any other name. SGD with momentum, 50 updates.
inline StepSpec spec_of(const std::string& model) {
  StepSpec spec;
  spec.network = [model](Graph& graph, Value images, int64_t classes, bool training) {
    if (model == "cnn") return build_network(model, graph, images, classes, training);
    return build_resnet({.bottleneck = false, .blocks = {1, 1}, .width = 8}, graph, images, classes,
                        training);
  };
  spec.classes = 10;
  spec.image_size = kSize;
  spec.optimizer = {.kind = OptimizerKind::Sgd, .momentum = 0.9};
  spec.updates = 50;
  return spec;
}

}  // namespace pounce::test
