#include "data/transform.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/random.h"

namespace pounce {
namespace {

int rounded_half_to_even(double value) {
  return int(std::nearbyint(value));
}

// torchvision's get_params: ten tries, then the largest central box of an allowed ratio.
CropBox choose_box(int width, int height, const Augmentation& augmentation, RandomStream& random) {
  constexpr double kMinRatio = 3.0 / 4.0, kMaxRatio = 4.0 / 3.0;
  double area = double(width) * double(height);
  for (int attempt = 0; attempt < 10; ++attempt) {
    double share = random.uniform(augmentation.crop_min, augmentation.crop_max);
    double ratio = std::exp(random.uniform(std::log(kMinRatio), std::log(kMaxRatio)));
    double box_width = std::nearbyint(std::sqrt(area * share * ratio));
    double box_height = std::nearbyint(std::sqrt(area * share / ratio));
    bool fits = box_width > 0 && box_width <= width && box_height > 0 && box_height <= height;
    if (!fits) continue;
    CropBox box{0, 0, int(box_width), int(box_height)};
    box.top = int(random.below(uint32_t(height - box.height + 1)));
    box.left = int(random.below(uint32_t(width - box.width + 1)));
    return box;
  }
  CropBox box{0, 0, width, height};
  double ratio = double(width) / double(height);
  if (ratio < kMinRatio) box.height = rounded_half_to_even(width / kMinRatio);
  if (ratio > kMaxRatio) box.width = rounded_half_to_even(height * kMaxRatio);
  box.top = (height - box.height) / 2;
  box.left = (width - box.width) / 2;
  return box;
}

struct Flips {
  bool horizontal = false, vertical = false;
};

// torchvision's Resize and CenterCrop, with the window mirrored.
Framing frame_center(int width, int height, const Preprocessing& rule, const Flips& flips) {
  int size = rule.image_size;
  int short_side = std::max(size, int(size / rule.resize_ratio));
  bool is_wide = width > height;
  double numerator = double(std::max(width, height));
  auto long_side = int64_t(short_side * numerator / double(std::min(width, height)));
  ResizeTarget target;
  target.width = is_wide ? long_side : short_side;
  target.height = is_wide ? short_side : long_side;
  // torchvision rounds the corner half to even.
  target.left = int64_t(std::nearbyint(double(target.width - size) / 2.0));
  target.top = int64_t(std::nearbyint(double(target.height - size) / 2.0));
  target.window_width = target.window_height = size;
  target.hflip = flips.horizontal;
  target.vflip = flips.vertical;
  return {{0, 0, width, height}, target};
}

}  // namespace

AugmentChoice choose_augmentation(int width, int height, const Augmentation& augmentation,
                                  const AugmentKey& key) {
  // An odd step through all 64-bit numbers: the first occurrence has the image's own stream.
  constexpr uint64_t kStep = 0x9E3779B97F4A7C15;
  RandomStream random(key.seed, RandomPurpose::Augment, key.epoch, key.id + key.occurrence * kStep);
  AugmentChoice choice;
  choice.hflip = random.uniform() < augmentation.hflip;
  choice.vflip = random.uniform() < augmentation.vflip;
  choice.box = choose_box(width, height, augmentation, random);
  return choice;
}

Framing frame_picture(int width, int height, const Preprocessing& rule,
                      const Augmentation& augmentation, const AugmentKey& key) {
  if (!augmentation.enabled) return frame_center(width, height, rule, {});
  AugmentChoice choice = choose_augmentation(width, height, augmentation, key);
  if (!augmentation.random_crop) {
    return frame_center(width, height, rule, {choice.hflip, choice.vflip});
  }
  int size = rule.image_size;
  return {choice.box, {size, size, 0, 0, size, size, choice.hflip, choice.vflip}};
}

ResizeTask resize_task(const Framing& framing, const StoredPicture& stored, uint8_t* out) {
  const CropBox& box = framing.box;
  const ResizeTarget& target = framing.target;
  AxisTask along{double(box.left), double(box.width),   target.width,
                 target.left,      target.window_width, false,
                 target.hflip};
  AxisTask across{double(box.top), double(box.height),   target.height,
                  target.top,      target.window_height, false,
                  target.vflip};
  ResizeTask task{along, across, stored.orientation >= 5, out, size_t(target.window_width) * 3};
  if (task.is_transposed) std::swap(task.x, task.y);
  // Which stored axes run against the upright ones.
  int o = stored.orientation;
  task.x.is_mirrored = o == 2 || o == 3 || o == 7 || o == 8;
  task.y.is_mirrored = o == 3 || o == 4 || o == 6 || o == 7;
  auto to_stored = [&](AxisTask& axis, int extent) {
    if (axis.is_mirrored) axis.begin = extent - axis.begin - axis.length;
    axis.begin /= stored.denominator;
    axis.length /= stored.denominator;
  };
  to_stored(task.x, stored.width);
  to_stored(task.y, stored.height);
  return task;
}

void resize_box(const PixelView& image, const CropBox& box, const ResizeTarget& target,
                Resizer& resizer, uint8_t* out) {
  resizer.begin(resize_task({box, target}, {image.width, image.height}, out));
  resizer.push_picture(image);
}

}  // namespace pounce
