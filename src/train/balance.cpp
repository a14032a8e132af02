#include "train/balance.h"

namespace pounce {

std::vector<float> make_class_weights(ClassWeights kind, const ImageFolder& dataset) {
  std::vector<float> weights(dataset.classes.size(), 1.0F);
  if (kind == ClassWeights::None) return weights;
  std::vector<int64_t> images(weights.size());
  for (size_t i = 0; i < dataset.train.size(); ++i) ++images[size_t(dataset.train.label(i))];
  for (size_t i = 0; i < weights.size(); ++i) {
    if (images[i] == 0) continue;
    weights[i] = float(double(dataset.train.size()) / (double(weights.size()) * double(images[i])));
  }
  return weights;
}

}  // namespace pounce
