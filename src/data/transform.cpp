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

// Where the filter of one result pixel begins and how many source pixels it covers.
struct Support {
  double center;
  int first, count;
};

Support support_of(const AxisRange& range, double scale, double radius, int i) {
  int64_t result = range.begin + (range.reverse ? range.count - 1 - i : i);
  double center = (double(result) + 0.5) * scale;
  int first = std::max(0, int(center - radius + 0.5));
  int count = std::min(range.source, int(center + radius + 0.5)) - first;
  return {center, first, count};
}

// The triangle filter, widened by the scale when shrinking. Source: Pillow's Resample.c,
// precompute_coeffs and normalize_coeffs_8bpc. Every result pixel gets the same number of weights,
// some of them 0, so that the inner loops have no branch that the CPU could guess wrong.
void compute_axis(const AxisRange& range, ResizeScratch::Axis& axis, std::vector<double>& raw) {
  double scale = double(range.source) / double(range.scaled);
  double radius = std::max(scale, 1.0);
  axis.taps = 0;
  for (int i = 0; i < range.count; ++i) {
    axis.taps = std::max(axis.taps, support_of(range, scale, radius, i).count);
  }
  size_t taps = size_t(axis.taps);
  axis.first.resize(size_t(range.count));
  axis.weights.assign(size_t(range.count) * taps, 0);
  raw.resize(taps);
  for (int i = 0; i < range.count; ++i) {
    Support support = support_of(range, scale, radius, i);
    double sum = 0;
    for (int t = 0; t < support.count; ++t) {
      double distance = std::abs((t + support.first - support.center + 0.5) / radius);
      raw[size_t(t)] = std::max(0.0, 1.0 - distance);
      sum += raw[size_t(t)];
    }
    // The zeros stand in front where the filter meets the end of the box.
    int first = std::min(support.first, range.source - axis.taps);
    int32_t* weights = &axis.weights[size_t(i) * taps + size_t(support.first - first)];
    for (int t = 0; t < support.count; ++t) {
      weights[t] = int32_t(0.5 + raw[size_t(t)] / sum * (1 << kPrecisionBits));
    }
    axis.first[size_t(i)] = first;
  }
}

// The two loops below take most of the time. They are compiled twice: for any CPU of the family,
// and for AVX2, chosen at run time. Integers, so both give the same bytes.
#if defined(__x86_64__)
#define POUNCE_INLINE [[gnu::always_inline]] inline
#define POUNCE_AVX2 [[gnu::target("avx2")]]
const bool kHasAvx2 = __builtin_cpu_supports("avx2");
#else
#define POUNCE_INLINE inline
#define POUNCE_AVX2
const bool kHasAvx2 = false;
#endif

// Weights are not negative and sum up to 1 but for rounding, so only 255 can be exceeded.
POUNCE_INLINE uint8_t to_byte(int32_t sum) {
  return uint8_t(std::min(sum >> kPrecisionBits, 255));
}

// Red, green, blue and one lane of no interest.
using Lanes = int32_t __attribute__((vector_size(16)));
using Shorts = int16_t __attribute__((vector_size(16)));
using Bytes = uint8_t __attribute__((vector_size(16)));

// Four bytes to four lanes, by interleaving with zeros: __builtin_convertvector goes byte by byte.
POUNCE_INLINE Lanes load_lanes(const uint8_t* pixel) {
  int32_t word;
  std::memcpy(&word, pixel, sizeof word);
  const Bytes no_bytes = {};
  const Shorts no_shorts = {};
  auto shorts = Shorts(__builtin_shufflevector(Bytes(Lanes{word, 0, 0, 0}), no_bytes, 0, 16, 1, 17,
                                               2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23));
  return Lanes(__builtin_shufflevector(shorts, no_shorts, 0, 8, 1, 9, 2, 10, 3, 11));
}

// The low bytes of four lanes.
POUNCE_INLINE void store_lanes(Lanes lanes, uint8_t* out) {
  auto bytes = Bytes(lanes);
  auto packed = Lanes(
      __builtin_shufflevector(bytes, bytes, 0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12));
  int32_t word = packed[0];
  std::memcpy(out, &word, sizeof word);
}

// One row of the box to one row of the window. Reads and writes one byte behind the last pixel.
// kTaps: the number of weights, 0 when it is not known while compiling.
template <int kTaps>
POUNCE_INLINE void scale_row_by(const uint8_t* source, const ResizeScratch::Axis& axis,
                                uint8_t* out) {
  const int taps = kTaps ? kTaps : axis.taps;
  const int32_t* weights = axis.weights.data();
  for (int32_t first : axis.first) {
    const uint8_t* pixel = source + 3 * size_t(first);
    Lanes sums = {kHalf, kHalf, kHalf, kHalf};
    for (int t = 0; t < taps; ++t) {
      sums += load_lanes(pixel + 3 * t) * weights[t];
    }
    sums >>= kPrecisionBits;
    sums = sums > 255 ? Lanes{255, 255, 255, 255} : sums;
    store_lanes(sums, out);
    weights += taps;
    out += 3;
  }
}

POUNCE_INLINE void scale_row_body(const uint8_t* source, const ResizeScratch::Axis& axis,
                                  uint8_t* out) {
  switch (axis.taps) {
    case 2:
      return scale_row_by<2>(source, axis, out);
    case 3:
      return scale_row_by<3>(source, axis, out);
    case 4:
      return scale_row_by<4>(source, axis, out);
    case 5:
      return scale_row_by<5>(source, axis, out);
    default:
      return scale_row_by<0>(source, axis, out);
  }
}

// Weighted sum of rows of `bytes` bytes each, a piece at a time so that the sums stay in registers.
POUNCE_INLINE void mix_rows_body(const uint8_t* rows, size_t bytes,
                                 std::span<const int32_t> weights, uint8_t* out) {
  constexpr size_t kPiece = 32;
  size_t at = 0;
  for (; at + kPiece <= bytes; at += kPiece) {
    int32_t sums[kPiece];
    std::fill_n(sums, kPiece, kHalf);
    const uint8_t* row = rows + at;
    for (int32_t weight : weights) {
      for (size_t i = 0; i < kPiece; ++i) sums[i] += row[i] * weight;
      row += bytes;
    }
    for (size_t i = 0; i < kPiece; ++i) out[at + i] = to_byte(sums[i]);
  }
  for (; at < bytes; ++at) {
    int32_t sum = kHalf;
    for (size_t t = 0; t < weights.size(); ++t) sum += rows[t * bytes + at] * weights[t];
    out[at] = to_byte(sum);
  }
}

POUNCE_AVX2 void scale_row_avx2(const uint8_t* source, const ResizeScratch::Axis& axis,
                                uint8_t* out) {
  scale_row_body(source, axis, out);
}

POUNCE_AVX2 void mix_rows_avx2(const uint8_t* rows, size_t bytes, std::span<const int32_t> weights,
                               uint8_t* out) {
  mix_rows_body(rows, bytes, weights, out);
}

void scale_row(const uint8_t* source, const ResizeScratch::Axis& axis, uint8_t* out) {
  kHasAvx2 ? scale_row_avx2(source, axis, out) : scale_row_body(source, axis, out);
}

void mix_rows(const uint8_t* rows, size_t bytes, std::span<const int32_t> weights, uint8_t* out) {
  kHasAvx2 ? mix_rows_avx2(rows, bytes, weights, out) : mix_rows_body(rows, bytes, weights, out);
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

void resize_box(const PixelView& image, const CropBox& box, const ResizeTarget& target,
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
  int end = std::max(vertical.first[0], vertical.first[last]) + vertical.taps;
  size_t row_bytes = size_t(target.window_width) * 3;
  scratch.rows.resize(size_t(end - begin) * row_bytes + 1);
  size_t stride = size_t(image.width) * 3;
  const uint8_t* corner = image.rgb + size_t(box.top) * stride + size_t(box.left) * 3;
  for (int y = begin; y < end; ++y) {
    const uint8_t* row = corner + size_t(y) * stride;
    bool ends_the_image = box.top + y == image.height - 1;
    if (ends_the_image) {
      // One byte more may be read than the last row of the image has.
      scratch.last_row.assign(row, image.rgb + size_t(image.height) * stride);
      scratch.last_row.push_back(0);
      row = scratch.last_row.data();
    }
    scale_row(row, horizontal, &scratch.rows[size_t(y - begin) * row_bytes]);
  }
  for (size_t y = 0; y <= last; ++y) {
    std::span<const int32_t> weights(&vertical.weights[y * size_t(vertical.taps)],
                                     size_t(vertical.taps));
    mix_rows(&scratch.rows[size_t(vertical.first[y] - begin) * row_bytes], row_bytes, weights,
             out + y * row_bytes);
  }
}

namespace {

struct Flips {
  bool horizontal = false, vertical = false;
};

// The evaluation rule, with the window mirrored.
void resize_to_center(const PixelView& image, const Preprocessing& rule, const Flips& flips,
                      ResizeScratch& scratch, uint8_t* out) {
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
  target.hflip = flips.horizontal;
  target.vflip = flips.vertical;
  resize_box(image, {0, 0, image.width, image.height}, target, scratch, out);
}

}  // namespace

void apply_preprocessing(const PixelView& image, const Preprocessing& rule, ResizeScratch& scratch,
                         uint8_t* out) {
  resize_to_center(image, rule, {}, scratch, out);
}

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

void apply_augmentation(const PixelView& image, const Augmentation& augmentation,
                        const Preprocessing& rule, const AugmentKey& key, ResizeScratch& scratch,
                        uint8_t* out) {
  if (!augmentation.enabled) {
    apply_preprocessing(image, rule, scratch, out);
    return;
  }
  AugmentChoice choice = choose_augmentation(image.width, image.height, augmentation, key);
  if (!augmentation.random_crop) {
    resize_to_center(image, rule, {choice.hflip, choice.vflip}, scratch, out);
    return;
  }
  int size = rule.image_size;
  ResizeTarget target{size, size, 0, 0, size, size, choice.hflip, choice.vflip};
  resize_box(image, choice.box, target, scratch, out);
}

}  // namespace pounce
