// From a complete configuration to what a run trains: the description its model files hold and the
// step that is built.
#pragma once

#include <set>

#include "data/dataset.h"
#include "pounce/train.h"
#include "train/model_file.h"
#include "train/step.h"

namespace pounce {

// `config`: complete, as fill_defaults leaves it.
ModelInfo model_info_of(const TrainConfig& config, const ImageFolder& dataset);

// The batch sizes an epoch over `samples` has.
std::set<int> distinct_sizes(const SampleList& samples, int batch_size);

// All but the precision and the number of updates, which depend on device and data.
StepSpec step_spec_of(const TrainConfig& config, const ModelInfo& info);

}  // namespace pounce
