// Weights of classes in the loss.
#pragma once

#include <vector>

#include "data/dataset.h"
#include "pounce/train.h"

namespace pounce {

// By label. Balanced: images / (classes * images of the class), so that every class has the same
// share of the loss and the weights of all training images are 1 on average.
std::vector<float> make_class_weights(ClassWeights kind, const ImageFolder& dataset);

}  // namespace pounce
