#include "data/pixel_augment.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "data/fixtures.h"

namespace pounce {
namespace {

using namespace test;
using testing::Each;

// torchvision's functional brightness, contrast and saturation, in double.
std::vector<double> jittered_plainly(const std::vector<uint8_t>& pixels, double strength,
                                     const AugmentKey& key) {
  RandomStream random(key.seed, RandomPurpose::ColorJitter, key.epoch, key.id);
  auto draw = [&] { return random.uniform(1 - strength, 1 + strength); };
  double brightness = draw(), contrast = draw(), saturation = draw();
  std::vector<double> values(pixels.begin(), pixels.end());
  auto grey = [&](size_t i) {
    return 0.299 * values[i] + 0.587 * values[i + 1] + 0.114 * values[i + 2];
  };
  auto blend = [](double& value, double other, double factor) {
    value = std::clamp(value * factor + other * (1 - factor), 0.0, 255.0);
  };
  for (double& value : values) blend(value, 0, brightness);
  double mean = 0;
  for (size_t i = 0; i < values.size(); i += 3) mean += grey(i) / (double(values.size()) / 3);
  for (double& value : values) blend(value, mean, contrast);
  for (size_t i = 0; i < values.size(); i += 3) {
    double own = grey(i);
    for (size_t c = 0; c < 3; ++c) blend(values[i + c], own, saturation);
  }
  return values;
}

TEST(ColorJitter, IsTorchvisionsFormula) {
  Image image = pattern_image(31, 20);
  for (double strength : {0.1, 0.4, 1.0}) {
    for (uint64_t id = 0; id < 20; ++id) {
      std::vector<uint8_t> pixels = image.rgb;
      jitter_colors(pixels.data(), 31 * 20, strength, {1, 2, id});
      std::vector<double> expected = jittered_plainly(image.rgb, strength, {1, 2, id});
      for (size_t i = 0; i < pixels.size(); ++i) {
        // Three roundings to bytes, each then scaled by a factor of at most 2.
        ASSERT_NEAR(pixels[i], expected[i], 5) << strength << " " << id;
      }
    }
  }
}

TEST(ColorJitter, GreyStaysGreyAndBlackBlack) {
  std::vector<uint8_t> grey(300, 90), black(300, 0);
  jitter_colors(grey.data(), 100, 0.5, {1, 2, 3});
  EXPECT_THAT(grey, Each(grey[0]));
  EXPECT_NE(grey[0], 90);
  jitter_colors(black.data(), 100, 0.5, {1, 2, 3});
  EXPECT_THAT(black, Each(0));
}

TEST(PixelAugment, DependsOnTheKeyAlone) {
  auto run = [](const AugmentKey& key) {
    std::vector<uint8_t> pixels = pattern_image(24, 24).rgb;
    jitter_colors(pixels.data(), 24 * 24, 0.5, key);
    erase_rectangle(pixels.data(), 24, 1, {1, 2, 3}, key);
    return pixels;
  };
  EXPECT_EQ(run({1, 2, 3}), run({1, 2, 3}));
  const AugmentKey keys[] = {{1, 2, 3}, {2, 2, 3}, {1, 3, 3}, {1, 2, 4}, {1, 2, 3, 1}};
  std::set<uint64_t> all;
  for (const AugmentKey& key : keys) {
    std::vector<uint8_t> pixels = run(key);
    all.insert(fnv(pixels.data(), pixels.size()));
  }
  EXPECT_EQ(all.size(), 5U);
}

TEST(RandomErasing, FillsOneRectangleOfItsSizes) {
  constexpr int kSide = 64;
  int erased = 0;
  double least = 1, most = 0;
  for (uint64_t id = 0; id < 2000; ++id) {
    std::vector<uint8_t> pixels(kSide * kSide * 3, 200);
    erase_rectangle(pixels.data(), kSide, 0.5, {7, 8, 9}, {1, 2, id});
    int left = kSide, right = -1, top = kSide, bottom = -1, count = 0;
    for (int i = 0; i < kSide * kSide; ++i) {
      if (pixels[size_t(i) * 3] == 200) continue;
      ASSERT_EQ(pixels[size_t(i) * 3 + 2], 9);
      left = std::min(left, i % kSide), right = std::max(right, i % kSide);
      top = std::min(top, i / kSide), bottom = std::max(bottom, i / kSide);
      ++count;
    }
    if (count == 0) continue;
    ++erased;
    int width = right - left + 1, height = bottom - top + 1;
    ASSERT_EQ(count, width * height);
    double share = double(count) / (kSide * kSide), ratio = double(height) / width;
    least = std::min(least, share), most = std::max(most, share);
    ASSERT_GT(share, 0.012);
    ASSERT_LT(share, 0.345);
    ASSERT_GT(ratio, 0.25);
    ASSERT_LT(ratio, 4);
  }
  EXPECT_NEAR(erased, 1000, 100);
  EXPECT_LT(least, 0.03);
  EXPECT_GT(most, 0.3);
}

}  // namespace
}  // namespace pounce
