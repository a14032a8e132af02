#include "train/defaults.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "data/order.h"
#include "nn/network.h"
#include "pounce/options.h"

namespace pounce {
namespace {

constexpr int kDefaultImageSize = 224;
constexpr int kCnnImageSize = 64;  // up to here `cnn` is the default model
constexpr int kSmallSizes[] = {32, 64, 96, 128, 160};
constexpr int kDefaultBatch = 64;
constexpr int kMinBatch = 8;
constexpr int kDefaultEpochs = 30;
constexpr int kMaxDefaultEpochs = 200;
constexpr int64_t kMinUpdates = 1000;
// From start weights (--init) less is to be learned, and large steps would destroy what is known.
constexpr int kDefaultInitEpochs = 15;
constexpr int kMaxDefaultInitEpochs = 60;
constexpr int64_t kMinInitUpdates = 300;
constexpr double kInitRateShare = 0.3;

int default_image_size(const ImageFolder& dataset) {
  std::vector<int32_t> sides;
  for (size_t i = 0; i < dataset.train.size(); ++i) {
    sides.push_back(std::min(dataset.train.width(i), dataset.train.height(i)));
  }
  if (sides.empty()) return kDefaultImageSize;
  auto middle = sides.begin() + int64_t(sides.size() / 2);
  std::nth_element(sides.begin(), middle, sides.end());
  if (*middle >= kSmallSizes[4]) return kDefaultImageSize;
  return *std::lower_bound(std::begin(kSmallSizes), std::end(kSmallSizes), *middle);
}

int default_batch_size(int64_t images) {
  if (images >= 10 * kDefaultBatch) return kDefaultBatch;
  int batch = kMinBatch;
  while (batch * 2 <= images / 10) batch *= 2;
  return batch;
}

int default_epochs(int64_t updates_each, bool has_init) {
  int64_t updates = has_init ? kMinInitUpdates : kMinUpdates;
  int64_t needed = (updates + updates_each - 1) / std::max<int64_t>(1, updates_each);
  return has_init ? int(std::clamp<int64_t>(needed, kDefaultInitEpochs, kMaxDefaultInitEpochs))
                  : int(std::clamp<int64_t>(needed, kDefaultEpochs, kMaxDefaultEpochs));
}

}  // namespace

double default_learning_rate(OptimizerKind optimizer, int batch_size, bool has_init) {
  double share = batch_size / 64.0;
  double rate = optimizer == OptimizerKind::Sgd ? 0.05 * share : 1e-3 * std::sqrt(share);
  return has_init ? kInitRateShare * rate : rate;
}

double default_weight_decay(OptimizerKind optimizer) {
  switch (optimizer) {
    case OptimizerKind::AdamW:
      return 0.05;
    case OptimizerKind::Sgd:
      return 5e-4;
    case OptimizerKind::Adam:
      return 0;
  }
  return 0;
}

namespace {

void fill_augmentation(TrainConfig& config) {
  bool is_varied = config.augment != Augment::None;
  bool is_cropped = is_varied || config.crop_scale_min || config.crop_scale_max;
  if (is_cropped && !config.crop_scale_min) {
    double least = config.augment == Augment::Light ? 0.8 : 0.35;
    config.crop_scale_min = std::min(least, config.crop_scale_max.value_or(1));
  }
  if (is_cropped && !config.crop_scale_max) config.crop_scale_max = 1;
  if (!config.hflip) config.hflip = is_varied ? 0.5 : 0;
  if (!config.vflip) config.vflip = 0;
}

}  // namespace

void check_config(const TrainConfig& config) {
  if (config.data.empty()) fail(ErrorKind::Config, "no folder of images was given");
  if (config.model) {
    auto known = network_names();
    if (std::find(known.begin(), known.end(), *config.model) == known.end()) {
      fail(ErrorKind::Config, "unknown model \"{}\", expected one of: {}", *config.model,
           fmt::join(known, ", "));
    }
  }
  for (const TrainOption& option : train_options()) {
    if (option.check) option.check(config);
  }
}

Augmentation make_augmentation(const TrainConfig& config) {
  TrainConfig filled = config;
  fill_augmentation(filled);
  return {.enabled = true,
          .crop_min = filled.crop_scale_min.value_or(1),
          .crop_max = filled.crop_scale_max.value_or(1),
          .hflip = *filled.hflip,
          .vflip = *filled.vflip,
          .random_crop = filled.crop_scale_min.has_value(),
          .color_jitter = filled.color_jitter,
          .erasing = filled.random_erasing};
}

TrainConfig fill_defaults(TrainConfig config, const ImageFolder& dataset) {
  int64_t images = int64_t(dataset.train.size());
  bool has_init = !config.init.empty();
  if (!config.image_size) config.image_size = default_image_size(dataset);
  if (!config.model) config.model = *config.image_size <= kCnnImageSize ? "cnn" : "resnet18";
  if (!config.batch_size) config.batch_size = default_batch_size(images);
  if (!config.epochs) {
    config.epochs = default_epochs(updates_per_epoch(images, *config.batch_size), has_init);
  }
  if (!config.learning_rate) {
    config.learning_rate = default_learning_rate(config.optimizer, *config.batch_size, has_init);
  }
  if (!config.weight_decay) config.weight_decay = default_weight_decay(config.optimizer);
  fill_augmentation(config);
  return config;
}

OnBad to_on_bad(BadFilePolicy policy) {
  switch (policy) {
    case BadFilePolicy::Auto:
      return OnBad::Auto;
    case BadFilePolicy::Skip:
      return OnBad::Skip;
    case BadFilePolicy::Stop:
      return OnBad::Stop;
  }
  return OnBad::Auto;
}

Sampler to_sampler(SamplerKind kind) {
  return kind == SamplerKind::Balanced ? Sampler::Balanced : Sampler::Uniform;
}

int64_t updates_per_epoch(int64_t train_images, int batch_size) {
  return int64_t(batch_sizes(train_images, batch_size).size());
}

}  // namespace pounce
