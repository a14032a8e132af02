#include "data/transform.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/random.h"

namespace pounce {
namespace {

// Pillow's fixed point: 8 bits of pixel and 2 of headroom leave 22 in an int32.
constexpr int kPrecisionBits = 32 - 8 - 2;
constexpr int32_t kHalf = 1 << (kPrecisionBits - 1);

struct AxisRange {
  int source;      // pixels of the box along this axis
  int64_t scaled;  // pixels of the scaled box
  int64_t begin;   // the window within it
  int count;
  bool reverse;
};

// The triangle filter, widened by the scale when shrinking. Source: Pillow's Resample.c,
// precompute_coeffs and normalize_coeffs_8bpc.
void compute_axis(const AxisRange& range, ResizeScratch::Axis& axis, std::vector<double>& raw) {
  double scale = double(range.source) / double(range.scaled);
  double support = std::max(scale, 1.0);
  axis.taps = int(std::ceil(support)) * 2 + 1;
  axis.first.resize(size_t(range.count));
  axis.count.resize(size_t(range.count));
  axis.weights.assign(size_t(range.count) * size_t(axis.taps), 0);
  raw.resize(size_t(axis.taps));
  for (int i = 0; i < range.count; ++i) {
    int64_t result = range.begin + (range.reverse ? range.count - 1 - i : i);
    double center = (double(result) + 0.5) * scale;
    int first = std::max(0, int(center - support + 0.5));
    int count = std::min(range.source, int(center + support + 0.5)) - first;
    double sum = 0;
    for (int t = 0; t < count; ++t) {
      double distance = std::abs((t + first - center + 0.5) / support);
      raw[size_t(t)] = std::max(0.0, 1.0 - distance);
      sum += raw[size_t(t)];
    }
    int32_t* weights = &axis.weights[size_t(i) * size_t(axis.taps)];
    for (int t = 0; t < count; ++t) {
      weights[t] = int32_t(0.5 + raw[size_t(t)] / sum * (1 << kPrecisionBits));
    }
    axis.first[size_t(i)] = first;
    axis.count[size_t(i)] = count;
  }
}

uint8_t to_byte(int32_t sum) {
  return uint8_t(std::clamp(sum >> kPrecisionBits, 0, 255));
}

// One row of the box to one row of the window.
void scale_row(const uint8_t* source, const ResizeScratch::Axis& axis, uint8_t* out) {
  size_t n = axis.first.size();
  const int32_t* weights = axis.weights.data();
  for (size_t x = 0; x < n; ++x, weights += axis.taps, out += 3) {
    const uint8_t* pixel = source + 3 * size_t(axis.first[x]);
    int32_t red = kHalf, green = kHalf, blue = kHalf;
    for (int t = 0; t < axis.count[x]; ++t, pixel += 3) {
      red += pixel[0] * weights[t];
      green += pixel[1] * weights[t];
      blue += pixel[2] * weights[t];
    }
    out[0] = to_byte(red);
    out[1] = to_byte(green);
    out[2] = to_byte(blue);
  }
}

// Weighted sum of `count` rows of `bytes` bytes each.
void mix_rows(const uint8_t* rows, size_t bytes, std::span<const int32_t> weights, int32_t* sums,
              uint8_t* out) {
  std::fill_n(sums, bytes, kHalf);
  for (int32_t weight : weights) {
    for (size_t i = 0; i < bytes; ++i) sums[i] += rows[i] * weight;
    rows += bytes;
  }
  for (size_t i = 0; i < bytes; ++i) out[i] = to_byte(sums[i]);
}

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

}  // namespace

void resize_box(const Image& image, const CropBox& box, const ResizeTarget& target,
                ResizeScratch& scratch, uint8_t* out) {
  ResizeScratch::Axis& horizontal = scratch.horizontal;
  ResizeScratch::Axis& vertical = scratch.vertical;
  compute_axis({box.width, target.width, target.left, target.window_width, target.hflip},
               horizontal, scratch.raw);
  compute_axis({box.height, target.height, target.top, target.window_height, target.vflip},
               vertical, scratch.raw);

  // Rows of the box the window needs: the first and last result rows bound them.
  size_t last = vertical.first.size() - 1;
  int begin = std::min(vertical.first[0], vertical.first[last]);
  int end =
      std::max(vertical.first[0] + vertical.count[0], vertical.first[last] + vertical.count[last]);
  size_t row_bytes = size_t(target.window_width) * 3;
  scratch.rows.resize(size_t(end - begin) * row_bytes);
  scratch.sums.resize(row_bytes);
  size_t stride = size_t(image.width) * 3;
  const uint8_t* corner = image.rgb.data() + size_t(box.top) * stride + size_t(box.left) * 3;
  for (int y = begin; y < end; ++y) {
    scale_row(corner + size_t(y) * stride, horizontal,
              &scratch.rows[size_t(y - begin) * row_bytes]);
  }
  for (size_t y = 0; y <= last; ++y) {
    std::span<const int32_t> weights(&vertical.weights[y * size_t(vertical.taps)],
                                     size_t(vertical.count[y]));
    mix_rows(&scratch.rows[size_t(vertical.first[y] - begin) * row_bytes], row_bytes, weights,
             scratch.sums.data(), out + y * row_bytes);
  }
}

void apply_preprocessing(const Image& image, const Preprocessing& rule, ResizeScratch& scratch,
                         uint8_t* out) {
  int size = rule.image_size;
  int short_side = std::max(size, int(size / rule.resize_ratio));
  bool is_wide = image.width > image.height;
  double long_over_short_numerator = double(std::max(image.width, image.height));
  auto long_side =
      int64_t(short_side * long_over_short_numerator / double(std::min(image.width, image.height)));
  ResizeTarget target;
  target.width = is_wide ? long_side : short_side;
  target.height = is_wide ? short_side : long_side;
  // torchvision rounds the corner half to even.
  target.left = int64_t(std::nearbyint(double(target.width - size) / 2.0));
  target.top = int64_t(std::nearbyint(double(target.height - size) / 2.0));
  target.window_width = target.window_height = size;
  resize_box(image, {0, 0, image.width, image.height}, target, scratch, out);
}

AugmentChoice choose_augmentation(int width, int height, const Augmentation& augmentation,
                                  const AugmentKey& key) {
  RandomStream random(key.seed, RandomPurpose::Augment, key.epoch, key.id);
  AugmentChoice choice;
  choice.hflip = random.uniform() < augmentation.hflip;
  choice.vflip = random.uniform() < augmentation.vflip;
  choice.box = choose_box(width, height, augmentation, random);
  return choice;
}

void apply_augmentation(const Image& image, const Augmentation& augmentation,
                        const Preprocessing& rule, const AugmentKey& key, ResizeScratch& scratch,
                        uint8_t* out) {
  if (!augmentation.enabled) {
    apply_preprocessing(image, rule, scratch, out);
    return;
  }
  AugmentChoice choice = choose_augmentation(image.width, image.height, augmentation, key);
  int size = rule.image_size;
  ResizeTarget target{size, size, 0, 0, size, size, choice.hflip, choice.vflip};
  resize_box(image, choice.box, target, scratch, out);
}

}  // namespace pounce
