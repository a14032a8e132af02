#include "data/transform.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/fixtures.h"
#include "data/prepare.h"

namespace pounce {
namespace {

using namespace test;
using testing::ElementsAreArray;

std::vector<uint8_t> resized(const Image& image, const CropBox& box, const ResizeTarget& target) {
  Resizer resizer;
  std::vector<uint8_t> out(size_t(target.window_width) * size_t(target.window_height) * 3);
  resize_box(image, box, target, resizer, out.data());
  return out;
}

void prepare(const PrepareRule& rule, const Image& image, const AugmentKey& key,
             std::vector<uint8_t>& out) {
  Preparer(rule).from_pixels(image, key, out.data());
}

ResizeTarget whole(int width, int height) {
  return {width, height, 0, 0, width, height};
}

uint64_t hash_of(const std::vector<uint8_t>& bytes) {
  return fnv(bytes.data(), bytes.size());
}

// Golden values of this file: Pillow 12, torchvision 0.2x on the picture of pattern_image.
TEST(Resize, EqualsPillow) {
  Image small = pattern_image(23, 17);
  ASSERT_EQ(hash_of(small.rgb), 0x5867c4ce4e9604faU);
  constexpr uint8_t kGolden[] = {58,  108, 158, 95,  145, 186, 122, 169, 184, 158, 184, 127,
                                 188, 157, 80,  115, 165, 185, 148, 192, 142, 174, 182, 92,
                                 197, 98,  69,  164, 59,  82,  168, 203, 82,  188, 172, 52,
                                 167, 105, 72,  111, 60,  108, 51,  82,  132, 192, 112, 67,
                                 131, 65,  97,  72,  75,  123, 72,  111, 161, 89,  138, 188};
  EXPECT_THAT(resized(small, {0, 0, 23, 17}, whole(5, 4)), ElementsAreArray(kGolden));
  EXPECT_EQ(hash_of(resized(small, {0, 0, 23, 17}, whole(40, 31))), 0x6257208c33b268cU);
  EXPECT_EQ(hash_of(resized(small, {0, 0, 23, 17}, whole(23, 9))), 0xd55a0c6a645a80d0U);
  EXPECT_EQ(resized(small, {0, 0, 23, 17}, whole(23, 17)), small.rgb);
  EXPECT_EQ(hash_of(resized(pattern_image(301, 207), {0, 0, 301, 207}, whole(64, 48))),
            0xc53084d88b503e0cU);
}

TEST(Resize, ScalesABoxAsACroppedImage) {
  Image image = pattern_image(301, 207);
  CropBox box{33, 21, 190, 150};
  EXPECT_EQ(hash_of(resized(image, box, whole(96, 96))), 0x353e49ada1cc9859U);
  ResizeTarget flipped = whole(96, 96);
  flipped.hflip = true;
  EXPECT_EQ(hash_of(resized(image, box, flipped)), 0x94a27a91203f6995U);
}

TEST(Resize, FlipsMirrorTheResult) {
  Image image = pattern_image(50, 40);
  std::vector<uint8_t> plain = resized(image, {0, 0, 50, 40}, whole(12, 10));
  ResizeTarget target = whole(12, 10);
  target.vflip = true;
  std::vector<uint8_t> upside_down = resized(image, {0, 0, 50, 40}, target);
  for (int y = 0; y < 10; ++y) {
    EXPECT_TRUE(std::equal(plain.begin() + y * 36, plain.begin() + (y + 1) * 36,
                           upside_down.begin() + (9 - y) * 36));
  }
}

TEST(Resize, AWindowIsAPartOfTheWhole) {
  Image image = pattern_image(90, 70);
  std::vector<uint8_t> all = resized(image, {0, 0, 90, 70}, whole(45, 30));
  ResizeTarget target{45, 30, 7, 3, 20, 15};
  std::vector<uint8_t> window = resized(image, {0, 0, 90, 70}, target);
  for (int y = 0; y < 15; ++y) {
    EXPECT_TRUE(std::equal(window.begin() + y * 60, window.begin() + (y + 1) * 60,
                           all.begin() + ((y + 3) * 45 + 7) * 3));
  }
}

TEST(Preprocessing, EqualsTorchvision) {
  struct Case {
    int width, height, size;
    uint64_t golden;
  };
  constexpr Case kCases[] = {
      {37, 29, 16, 0x2acbd1beb7e6e572},   {29, 37, 16, 0x49652c48e5b72ac3},
      {300, 200, 96, 0x59354347d2dcacce}, {640, 480, 224, 0xc1206027db993b03},
      {50, 50, 64, 0x134774f8339ba965},   {401, 33, 32, 0xc8b3ecbe10dbd4b1},
  };
  for (const Case& c : kCases) {
    std::vector<uint8_t> out(size_t(c.size) * size_t(c.size) * 3);
    prepare({.preprocessing = {c.size, 0.875}, .augmentation = {.enabled = false}},
            pattern_image(c.width, c.height), {}, out);
    EXPECT_EQ(hash_of(out), c.golden) << c.width << "x" << c.height << " to " << c.size;
  }
}

TEST(Preprocessing, TakesStripsOfOnePixel) {
  std::vector<uint8_t> out(size_t(32) * 32 * 3);
  prepare({.preprocessing = {32, 0.875}, .augmentation = {.enabled = false}},
          solid_image(5000, 1, {9, 8, 7}), {}, out);
  EXPECT_EQ(out[0], 9);
  EXPECT_EQ(out.back(), 7);
}

TEST(Augmentation, BoxesLieInsideAndCoverTheRange) {
  Augmentation augmentation{true, 0.35, 1.0, 0.5, 0.0};
  double least = 1, most = 0;
  int flips = 0;
  constexpr int kDraws = 4000;
  for (uint64_t id = 0; id < kDraws; ++id) {
    AugmentChoice choice = choose_augmentation(400, 300, augmentation, {1, 2, id});
    const CropBox& box = choice.box;
    ASSERT_GE(box.left, 0);
    ASSERT_GE(box.top, 0);
    ASSERT_LE(box.left + box.width, 400);
    ASSERT_LE(box.top + box.height, 300);
    double ratio = double(box.width) / box.height;
    ASSERT_GT(ratio, 0.74);
    ASSERT_LT(ratio, 1.35);
    double share = double(box.width) * box.height / (400 * 300);
    least = std::min(least, share);
    most = std::max(most, share);
    flips += choice.hflip;
    ASSERT_FALSE(choice.vflip);
  }
  EXPECT_NEAR(least, 0.35, 0.01);
  EXPECT_GT(most, 0.95);
  EXPECT_NEAR(double(flips) / kDraws, 0.5, 0.03);
}

TEST(Augmentation, OtherFitsDrawTheRatioAroundThePictures) {
  Augmentation augmentation{true, 0.1, 1.0, 0.5, 0.0};
  for (Fit fit : {Fit::Letterbox, Fit::Stretch}) {
    for (uint64_t id = 0; id < 1000; ++id) {
      CropBox box = choose_augmentation(900, 300, augmentation, {1, 2, id}, fit).box;
      ASSERT_LE(box.left + box.width, 900);
      ASSERT_LE(box.top + box.height, 300);
      double ratio = double(box.width) / box.height / 3;
      ASSERT_GT(ratio, 0.73);
      ASSERT_LT(ratio, 1.36);
    }
    CropBox whole = choose_augmentation(900, 300, {true, 1.0, 1.0}, {1, 2, 3}, fit).box;
    EXPECT_EQ(whole.width, 900);
    EXPECT_EQ(whole.height, 300);
  }
}

TEST(Augmentation, LongStripsFallBackToTheCentre) {
  AugmentChoice choice = choose_augmentation(1000, 10, {true, 1.0, 1.0, 0, 0}, {1, 2, 3});
  EXPECT_EQ(choice.box.width, 13);
  EXPECT_EQ(choice.box.height, 10);
  EXPECT_EQ(choice.box.left, (1000 - 13) / 2);
  AugmentChoice tall = choose_augmentation(10, 1000, {true, 1.0, 1.0, 0, 0}, {1, 2, 3});
  EXPECT_EQ(tall.box.height, 13);
}

TEST(Augmentation, DependsOnSeedEpochAndImageAlone) {
  Image image = pattern_image(80, 60);
  auto run = [&](const AugmentKey& key) {
    std::vector<uint8_t> out(size_t(24) * 24 * 3);
    prepare({.preprocessing = {24, 0.875}, .augmentation = {}}, image, key, out);
    return out;
  };
  EXPECT_EQ(run({1, 2, 3}), run({1, 2, 3}));
  EXPECT_NE(run({1, 2, 3}), run({2, 2, 3}));
  EXPECT_NE(run({1, 2, 3}), run({1, 3, 3}));
  EXPECT_NE(run({1, 2, 3}), run({1, 2, 4}));
  EXPECT_EQ(run({1, 2, 3}), run({1, 2, 3, 0}));
  EXPECT_NE(run({1, 2, 3}), run({1, 2, 3, 1}));
  EXPECT_NE(run({1, 2, 3, 1}), run({1, 2, 3, 2}));
}

TEST(Augmentation, WithoutRandomCropItIsTheEvaluationRuleAndFlips) {
  Image image = pattern_image(40, 30);
  constexpr int kSide = 16;
  Preprocessing rule{kSide, 0.875};
  auto run = [&](const Augmentation& augmentation) {
    std::vector<uint8_t> out(size_t(kSide) * kSide * 3);
    prepare({.preprocessing = rule, .augmentation = augmentation}, image, {1, 2, 3}, out);
    return out;
  };
  std::vector<uint8_t> plain(size_t(kSide) * kSide * 3);
  prepare({.preprocessing = rule, .augmentation = {.enabled = false}}, image, {}, plain);
  EXPECT_EQ(run({.hflip = 0, .vflip = 0, .random_crop = false}), plain);
  std::vector<uint8_t> mirrored = run({.hflip = 1, .vflip = 1, .random_crop = false});
  for (size_t i = 0; i < plain.size(); ++i) {
    size_t pixel = plain.size() / 3 - 1 - i / 3;
    ASSERT_EQ(mirrored[i], plain[pixel * 3 + i % 3]) << i;
  }
}

}  // namespace
}  // namespace pounce
