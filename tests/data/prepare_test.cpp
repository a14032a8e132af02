#include "data/prepare.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/fixtures.h"

namespace pounce {
namespace {

using namespace test;
using testing::HasSubstr;

constexpr int kSize = 48;

std::vector<uint8_t> from_bytes(const PrepareRule& rule, const Bytes& file,
                                const AugmentKey& key = {}) {
  Preparer preparer(rule);
  std::vector<uint8_t> out(size_t(rule.preprocessing.image_size * rule.preprocessing.image_size) *
                           3);
  Result<void> done = preparer.from_bytes(file, key, out.data());
  if (!done) throw done.error();
  return out;
}

std::vector<uint8_t> from_pixels(const PrepareRule& rule, const Bytes& file,
                                 const AugmentKey& key = {}) {
  Preparer preparer(rule);
  std::vector<uint8_t> out(size_t(rule.preprocessing.image_size * rule.preprocessing.image_size) *
                           3);
  Image image = decode_image(file, {.exif = rule.preprocessing.exif}).value();
  preparer.from_pixels(image, key, out.data());
  return out;
}

PrepareRule rule_of(int size, bool is_training) {
  PrepareRule rule;
  rule.preprocessing.image_size = size;
  rule.augmentation.enabled = is_training;
  rule.augmentation.crop_min = 0.08;
  rule.augmentation.vflip = 0.5;
  return rule;
}

TEST(Prepare, BytesAndPixelsGiveTheSame) {
  for (int orientation = 0; orientation <= 8; ++orientation) {
    for (bool progressive : {false, true}) {
      JpegOptions options{.quality = 85, .progressive = progressive, .subsampled = true};
      options.orientation = orientation;
      Bytes file = encode_jpeg(pattern_image(95, 81), options);
      for (bool is_training : {false, true}) {
        PrepareRule rule = rule_of(kSize, is_training);
        ASSERT_FALSE(may_decode_scaled(95, 81, rule));
        for (uint64_t id = 0; id < 20; ++id) {
          AugmentKey key{1, 2, id};
          ASSERT_EQ(from_bytes(rule, file, key), from_pixels(rule, file, key))
              << "orientation " << orientation << " id " << id;
        }
        rule.augmentation.random_crop = false;
        ASSERT_EQ(from_bytes(rule, file), from_pixels(rule, file)) << orientation;
      }
    }
  }
}

TEST(Prepare, WithoutExifThePictureStaysAsItIsStored) {
  Bytes turned = encode_jpeg(pattern_image(60, 40), {.orientation = 6});
  Bytes plain = encode_jpeg(pattern_image(60, 40));
  PrepareRule rule = rule_of(16, false);
  EXPECT_NE(from_bytes(rule, turned), from_bytes(rule, plain));
  rule.preprocessing.exif = false;
  EXPECT_EQ(from_bytes(rule, turned), from_bytes(rule, plain));
}

TEST(Prepare, CmykAndOtherFormatsTakeTheSameWay) {
  Bytes cmyk = encode_cmyk_jpeg(64, {255, 127, 0, 191});
  Bytes png = encode_png(pattern_image(70, 50));
  for (bool is_training : {false, true}) {
    PrepareRule rule = rule_of(kSize, is_training);
    EXPECT_EQ(from_bytes(rule, cmyk, {1, 2, 3}), from_pixels(rule, cmyk, {1, 2, 3}));
    EXPECT_EQ(from_bytes(rule, png, {1, 2, 3}), from_pixels(rule, png, {1, 2, 3}));
  }
}

// Smooth, so that what is compared is the place of the pixels and not their noise.
Image smooth_image(int width, int height) {
  Image image{width, height, {}};
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      image.rgb.push_back(uint8_t(255 * x / width));
      image.rgb.push_back(uint8_t(255 * y / height));
      image.rgb.push_back(uint8_t(127 + 127 * (x - y) / (width + height)));
    }
  }
  return image;
}

TEST(Prepare, LargeCropsAreDecodedSmallerAndLookTheSame) {
  constexpr int kLarge = 16;
  for (int orientation = 1; orientation <= 8; ++orientation) {
    JpegOptions options{.quality = 95, .subsampled = true};
    options.orientation = orientation;
    Bytes file = encode_jpeg(smooth_image(203, 171), options);
    PrepareRule rule = rule_of(kLarge, true);
    ASSERT_TRUE(may_decode_scaled(203, 171, rule));
    for (uint64_t id = 0; id < 20; ++id) {
      std::vector<uint8_t> small = from_bytes(rule, file, {1, 2, id});
      std::vector<uint8_t> full = from_pixels(rule, file, {1, 2, id});
      for (size_t i = 0; i < small.size(); ++i) {
        ASSERT_NEAR(small[i], full[i], 4) << "orientation " << orientation << " id " << id;
      }
    }
  }
}

TEST(Prepare, EvaluationNeverDecodesSmaller) {
  Bytes file = encode_jpeg(pattern_image(203, 171), {.quality = 85, .subsampled = true});
  PrepareRule rule = rule_of(16, false);
  EXPECT_FALSE(may_decode_scaled(203, 171, rule));
  EXPECT_EQ(from_bytes(rule, file), from_pixels(rule, file));
  rule = rule_of(16, true);
  rule.augmentation.random_crop = false;
  EXPECT_FALSE(may_decode_scaled(203, 171, rule));
  EXPECT_EQ(from_bytes(rule, file), from_pixels(rule, file));
}

TEST(Prepare, EvaluationReadsTheFileToItsEnd) {
  // A picture far taller than the square that is cut out of it.
  Bytes file = encode_jpeg(pattern_image(64, 400), {.quality = 85, .subsampled = true});
  PrepareRule rule = rule_of(32, false);
  EXPECT_NO_THROW(from_bytes(rule, file));
  Bytes cut(file.begin(), file.end() - 40);
  cut.insert(cut.end(), {0xFF, 0xD9});
  try {
    from_bytes(rule, cut);
    ADD_FAILURE() << "a cut picture was taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::BadData);
    EXPECT_THAT(error.message(), HasSubstr("damaged JPEG"));
  }
}

TEST(Prepare, OneStripOfPixelsIsEnough) {
  for (auto [width, height] : {std::pair{1, 1}, {1, 300}, {300, 1}, {3, 2}}) {
    Bytes file = encode_jpeg(pattern_image(width, height), {.subsampled = true});
    for (bool is_training : {false, true}) {
      PrepareRule rule = rule_of(kSize, is_training);
      EXPECT_EQ(from_bytes(rule, file), from_pixels(rule, file)) << width << "x" << height;
    }
  }
}

TEST(Prepare, StagesAreTimed) {
  Bytes file = encode_jpeg(pattern_image(203, 171));
  Preparer preparer(rule_of(16, true));
  std::vector<uint8_t> out(16 * 16 * 3);
  ASSERT_TRUE(preparer.from_bytes(file, {}, out.data()));
  EXPECT_GT(preparer.seconds().decode, 0);
  EXPECT_GT(preparer.seconds().transform, 0);
  double decode = preparer.seconds().decode;
  preparer.from_pixels(pattern_image(30, 30), {}, out.data());
  EXPECT_EQ(preparer.seconds().decode, decode);
}

}  // namespace
}  // namespace pounce
