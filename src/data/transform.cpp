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

struct Extents {
  int width, height;
};

// torchvision's get_params: ten tries, then the largest central box of an allowed ratio. Ratios are
// relative to `aspect`.
CropBox choose_box(Extents extents, double aspect, const Augmentation& augmentation,
                   RandomStream& random) {
  auto [width, height] = extents;
  constexpr double kMinRatio = 3.0 / 4.0, kMaxRatio = 4.0 / 3.0;
  double area = double(width) * double(height);
  for (int attempt = 0; attempt < 10; ++attempt) {
    double share = random.uniform(augmentation.crop_min, augmentation.crop_max);
    double ratio = std::exp(random.uniform(std::log(kMinRatio), std::log(kMaxRatio)));
    double box_width = std::nearbyint(std::sqrt(area * share * (ratio * aspect)));
    double box_height = std::nearbyint(std::sqrt(area * share / (ratio * aspect)));
    bool fits = box_width > 0 && box_width <= width && box_height > 0 && box_height <= height;
    if (!fits) continue;
    CropBox box{0, 0, int(box_width), int(box_height)};
    box.top = int(random.below(uint32_t(height - box.height + 1)));
    box.left = int(random.below(uint32_t(width - box.width + 1)));
    return box;
  }
  CropBox box{0, 0, width, height};
  double least = kMinRatio * aspect, most = kMaxRatio * aspect;
  double ratio = double(width) / double(height);
  if (ratio < least) box.height = rounded_half_to_even(width / least);
  if (ratio > most) box.width = rounded_half_to_even(height * most);
  box.top = (height - box.height) / 2;
  box.left = (width - box.width) / 2;
  return box;
}

struct Flips {
  bool horizontal = false, vertical = false;
};

// `box` scaled to the square, or into it.
Framing frame_box(const CropBox& box, const Preprocessing& rule, const Flips& flips) {
  int size = rule.image_size, width = size, height = size;
  if (rule.fit == Fit::Letterbox) {
    double scale = double(size) / std::max(box.width, box.height);
    width = std::clamp(rounded_half_to_even(box.width * scale), 1, size);
    height = std::clamp(rounded_half_to_even(box.height * scale), 1, size);
  }
  Framing framing{box, {width, height, 0, 0, width, height, flips.horizontal, flips.vertical}};
  // Mirroring the square mirrors the bars, which may differ by a pixel.
  framing.left = flips.horizontal ? (size - width + 1) / 2 : (size - width) / 2;
  framing.top = flips.vertical ? (size - height + 1) / 2 : (size - height) / 2;
  return framing;
}

// torchvision's Resize and CenterCrop, with the window mirrored.
Framing frame_center(int width, int height, const Preprocessing& rule, const Flips& flips) {
  if (rule.fit != Fit::Crop) return frame_box({0, 0, width, height}, rule, flips);
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
                                  const AugmentKey& key, Fit fit) {
  RandomStream random(key.seed, RandomPurpose::Augment, key.epoch, key.stream());
  AugmentChoice choice;
  choice.hflip = random.uniform() < augmentation.hflip;
  choice.vflip = random.uniform() < augmentation.vflip;
  double aspect = fit == Fit::Crop ? 1 : double(width) / double(height);
  choice.box = choose_box({width, height}, aspect, augmentation, random);
  return choice;
}

Framing frame_picture(int width, int height, const Preprocessing& rule,
                      const Augmentation& augmentation, const AugmentKey& key) {
  if (!augmentation.enabled) return frame_center(width, height, rule, {});
  AugmentChoice choice = choose_augmentation(width, height, augmentation, key, rule.fit);
  Flips flips{choice.hflip, choice.vflip};
  return augmentation.random_crop ? frame_box(choice.box, rule, flips)
                                  : frame_center(width, height, rule, flips);
}

ResizeTask resize_task(const Framing& framing, const StoredPicture& stored, uint8_t* out,
                       size_t stride) {
  const CropBox& box = framing.box;
  const ResizeTarget& target = framing.target;
  AxisTask along{double(box.left), double(box.width),   target.width,
                 target.left,      target.window_width, false,
                 target.hflip};
  AxisTask across{double(box.top), double(box.height),   target.height,
                  target.top,      target.window_height, false,
                  target.vflip};
  ResizeTask task{along, across, stored.orientation >= 5, out, stride};
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
  size_t stride = size_t(target.window_width) * 3;
  resizer.begin(resize_task({box, target}, {image.width, image.height}, out, stride));
  resizer.push_picture(image);
}

bool is_shrunk(int width, int height, const Preprocessing& rule) {
  return rule.shrink > 0 && std::min(width, height) > rule.shrink;
}

PictureSize shrunk_size(int width, int height, const Preprocessing& rule) {
  if (!is_shrunk(width, height, rule)) return {width, height};
  auto scaled = [&](int side) {
    return int(int64_t(rule.shrink) * side / std::min(width, height));
  };
  return {scaled(width), scaled(height)};
}

Framing frame_shrunk(int width, int height, const Preprocessing& rule) {
  PictureSize small = shrunk_size(width, height, rule);
  return {{0, 0, width, height}, {small.width, small.height, 0, 0, small.width, small.height}};
}

void shrink_picture(const PixelView& image, const Preprocessing& rule, Resizer& resizer,
                    Image& shrunk) {
  Framing framing = frame_shrunk(image.width, image.height, rule);
  shrunk.resize(int(framing.target.width), int(framing.target.height));
  resize_box(image, framing.box, framing.target, resizer, shrunk.rgb.data());
}

}  // namespace pounce
