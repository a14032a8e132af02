#include "data/pixel_augment.h"

#include <algorithm>
#include <cmath>

#include "base/random.h"

namespace pounce {
namespace {

// Fixed point, so that every machine gives the same bytes.
constexpr int kFactorBits = 16;
constexpr int32_t kOne = 1 << kFactorBits;

// `value` moved away from `origin` by the factor, or towards it.
uint8_t blend(int32_t value, int32_t origin, int32_t factor) {
  int32_t sum = value * factor + origin * (kOne - factor) + kOne / 2;
  return uint8_t(std::clamp(sum >> kFactorBits, 0, 255));
}

// ITU-R 601-2, the weights of Pillow's "L".
int32_t grey_of(int32_t red, int32_t green, int32_t blue) {
  return (red * 19595 + green * 38470 + blue * 7471 + kOne / 2) >> kFactorBits;
}

using Table = std::array<uint8_t, 256>;

Table blend_table(int32_t origin, int32_t factor) {
  Table table;
  for (int32_t value = 0; value < 256; ++value) table[size_t(value)] = blend(value, origin, factor);
  return table;
}

// Of the picture that `table` makes of the pixels.
int32_t mean_grey(const uint8_t* pixels, int64_t count, const Table& table) {
  int64_t sum = 0;
  for (int64_t i = 0; i < count; ++i, pixels += 3) {
    sum += grey_of(table[pixels[0]], table[pixels[1]], table[pixels[2]]);
  }
  return int32_t((sum + count / 2) / count);
}

}  // namespace

void jitter_colors(uint8_t* pixels, int64_t count, double strength, const AugmentKey& key) {
  RandomStream random(key.seed, RandomPurpose::ColorJitter, key.epoch, key.stream());
  auto draw = [&] {
    return int32_t(std::lround(random.uniform(1 - strength, 1 + strength) * kOne));
  };
  int32_t brightness = draw(), contrast = draw(), saturation = draw();
  Table table = blend_table(0, brightness);
  Table contrasts = blend_table(mean_grey(pixels, count, table), contrast);
  for (uint8_t& value : table) value = contrasts[value];
  for (int64_t i = 0; i < count; ++i, pixels += 3) {
    int32_t red = table[pixels[0]], green = table[pixels[1]], blue = table[pixels[2]];
    int32_t grey = grey_of(red, green, blue);
    pixels[0] = blend(red, grey, saturation);
    pixels[1] = blend(green, grey, saturation);
    pixels[2] = blend(blue, grey, saturation);
  }
}

void erase_rectangle(uint8_t* pixels, int size, double probability,
                     const std::array<uint8_t, 3>& color, const AugmentKey& key) {
  constexpr double kLeastShare = 0.02, kMostShare = 0.33;
  constexpr double kLeastRatio = 0.3, kMostRatio = 3.3;
  constexpr int kAttempts = 10;
  RandomStream random(key.seed, RandomPurpose::Erasing, key.epoch, key.stream());
  if (random.uniform() >= probability) return;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    double area = double(size) * size * random.uniform(kLeastShare, kMostShare);
    double ratio = std::exp(random.uniform(std::log(kLeastRatio), std::log(kMostRatio)));
    int height = int(std::nearbyint(std::sqrt(area * ratio)));
    int width = int(std::nearbyint(std::sqrt(area / ratio)));
    if (height >= size || width >= size || height < 1 || width < 1) continue;
    int top = int(random.below(uint32_t(size - height + 1)));
    int left = int(random.below(uint32_t(size - width + 1)));
    for (int y = top; y < top + height; ++y) {
      uint8_t* pixel = pixels + 3 * (int64_t(y) * size + left);
      for (int x = 0; x < width; ++x, pixel += 3) std::copy_n(color.data(), 3, pixel);
    }
    return;
  }
}

}  // namespace pounce
