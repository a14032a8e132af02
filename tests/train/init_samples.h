// Files of start weights for tests: every entry of a network with values that tell their place.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "train/inference.h"
#include "train/model_file.h"

namespace pounce::test {

inline ModelInfo network_info(const std::string& model, int classes) {
  ModelInfo info;
  info.model = model;
  info.image_size = 32;
  for (int i = 0; i < classes; ++i) info.classes.push_back(std::to_string(i));
  return info;
}

inline std::vector<float> floats_in(const NamedTensor& tensor) {
  std::vector<float> values(tensor.bytes.size() / sizeof(float));
  std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
  return values;
}

// In torchvision's order and layout, counters included; small numbers, above 0.
inline TensorFile sample_weights(const std::string& model, int classes) {
  TensorFile file;
  for (const StateEntry& entry : network_state(make_step_spec(network_info(model, classes)))) {
    NamedTensor tensor{entry.name, {entry.type.dtype, file_shape(entry)}, {}};
    tensor.bytes.resize(size_t(tensor.type.bytes()));
    if (entry.type.dtype == DType::F32) {
      std::vector<float> values(tensor.bytes.size() / sizeof(float));
      size_t place = entry.name.size();
      for (float& value : values) value = float(++place % 101) / 512;
      std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
    }
    file.tensors.push_back(std::move(tensor));
  }
  return file;
}

}  // namespace pounce::test
