#include "train/run_setup.h"

#include "data/order.h"
#include "train/inference.h"

namespace pounce {
namespace {

// The short side pictures are reduced to: a margin for crops smaller than the picture.
int shrunk_side(int image_size) {
  return (3 * image_size + 1) / 2;
}

}  // namespace

ModelInfo model_info_of(const TrainConfig& config, const ImageFolder& dataset) {
  ModelInfo info;
  info.model = *config.model;
  info.classes = dataset.classes;
  info.image_size = *config.image_size;
  info.resize_ratio = config.resize_ratio;
  info.fit = config.fit;
  info.exif = config.exif;
  if (config.cache == CacheMode::Shrunk) info.shrink = shrunk_side(info.image_size);
  if (dataset.split_by_rule) info.split_fraction = dataset.val_fraction;
  return info;
}

std::set<int> distinct_sizes(const SampleList& samples, int batch_size) {
  std::vector<int> sizes = batch_sizes(int64_t(samples.size()), batch_size);
  return {sizes.begin(), sizes.end()};
}

StepSpec step_spec_of(const TrainConfig& config, const ModelInfo& info) {
  StepSpec spec = make_step_spec(info);
  spec.label_smoothing = config.label_smoothing;
  spec.optimizer = {.kind = config.optimizer,
                    .momentum = config.momentum,
                    .nesterov = config.nesterov,
                    .weight_decay = *config.weight_decay,
                    .clip_norm = config.clip_grad,
                    .ema_decay = config.ema_decay};
  return spec;
}

}  // namespace pounce
