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

TEST(Prepare, EveryFitAndShrinkGivesTheSameFromBytesAndPixels) {
  for (int orientation = 1; orientation <= 8; ++orientation) {
    JpegOptions options{.quality = 85, .subsampled = true};
    options.orientation = orientation;
    Bytes file = encode_jpeg(pattern_image(90, 57), options);
    for (Fit fit : {Fit::Crop, Fit::Letterbox, Fit::Stretch}) {
      for (int shrink : {0, 40}) {
        for (bool is_training : {false, true}) {
          PrepareRule rule = rule_of(kSize, is_training);
          rule.preprocessing.fit = fit;
          rule.preprocessing.shrink = shrink;
          rule.augmentation.color_jitter = 0.4;
          rule.augmentation.erasing = 0.5;
          ASSERT_FALSE(may_decode_scaled(90, 57, rule));
          for (uint64_t id = 0; id < 10; ++id) {
            ASSERT_EQ(from_bytes(rule, file, {1, 2, id}), from_pixels(rule, file, {1, 2, id}))
                << int(fit) << " " << shrink << " orientation " << orientation;
          }
        }
      }
    }
  }
}

TEST(Prepare, ShrunkPixelsStayAsTheyAre) {
  Image image = pattern_image(90, 57);
  for (bool is_training : {false, true}) {
    PrepareRule rule = rule_of(kSize, is_training);
    rule.preprocessing.shrink = 40;
    Resizer resizer;
    Image shrunk;
    shrink_picture(image, rule.preprocessing, resizer, shrunk);
    EXPECT_EQ(shrunk.width, 63);
    EXPECT_EQ(shrunk.height, 40);
    EXPECT_FALSE(is_shrunk(63, 40, rule.preprocessing));
    Preparer preparer(rule);
    std::vector<uint8_t> whole(kSize * kSize * 3), small = whole, plain = whole;
    preparer.from_pixels(image, {1, 2, 3}, whole.data());
    preparer.from_pixels(shrunk, {1, 2, 3}, small.data());
    EXPECT_EQ(whole, small);
    rule.preprocessing.shrink = 0;
    Preparer(rule).from_pixels(image, {1, 2, 3}, plain.data());
    EXPECT_NE(whole, plain);
  }
}

TEST(Prepare, NothingIsDecodedAtAScaleWhereTheRuleShrinks) {
  // Too narrow to be reduced, long enough for letterbox to take it at a smaller scale.
  Bytes file = encode_jpeg(pattern_image(60, 400), {.quality = 85, .subsampled = true});
  PrepareRule rule = rule_of(kSize, true);
  rule.preprocessing.fit = Fit::Letterbox;
  ASSERT_TRUE(may_decode_scaled(60, 400, rule));
  rule.preprocessing.shrink = 72;
  ASSERT_FALSE(may_decode_scaled(60, 400, rule));
  for (uint64_t id = 0; id < 20; ++id) {
    ASSERT_EQ(from_bytes(rule, file, {1, 2, id}), from_pixels(rule, file, {1, 2, id})) << id;
  }
}

TEST(Prepare, HandsOutTheReducedPicture) {
  Image image = pattern_image(90, 57), expected;
  PrepareRule rule = rule_of(kSize, true);
  rule.preprocessing.shrink = 40;
  Preparer preparer(rule);
  Resizer resizer;
  std::vector<uint8_t> out(kSize * kSize * 3);
  for (bool is_jpeg : {false, true}) {
    Bytes file = is_jpeg ? encode_jpeg(image) : encode_png(image);
    ASSERT_TRUE(preparer.from_bytes(file, {1, 2, 3}, out.data()));
    shrink_picture(decode_image(file, {}).value(), rule.preprocessing, resizer, expected);
    ASSERT_NE(preparer.reduced(), nullptr);
    EXPECT_EQ(preparer.reduced()->width, 63);
    EXPECT_EQ(preparer.reduced()->height, 40);
    EXPECT_EQ(preparer.reduced()->rgb, expected.rgb);
    file.resize(file.size() / 2);
    ASSERT_FALSE(preparer.from_bytes(file, {1, 2, 3}, out.data()));
    EXPECT_EQ(preparer.reduced(), nullptr);
  }
  preparer.from_pixels(image, {1, 2, 3}, out.data());
  EXPECT_NE(preparer.reduced(), nullptr);
  preparer.from_pixels(pattern_image(90, 40), {1, 2, 3}, out.data());
  EXPECT_EQ(preparer.reduced(), nullptr);
}

TEST(Prepare, LetterboxShowsTheWholePictureBetweenBlackBars) {
  Image image = pattern_image(100, 50);
  PrepareRule rule = rule_of(kSize, false);
  rule.preprocessing.fit = Fit::Letterbox;
  std::vector<uint8_t> out(kSize * kSize * 3, 77);
  Preparer(rule).from_pixels(image, {}, out.data());
  std::vector<uint8_t> expected(kSize * kSize * 3, 0);
  Resizer resizer;
  resize_box(image, {0, 0, 100, 50}, {kSize, kSize / 2, 0, 0, kSize, kSize / 2}, resizer,
             &expected[kSize / 4 * kSize * 3]);
  EXPECT_EQ(out, expected);
}

TEST(Prepare, StretchScalesBothSides) {
  Image image = pattern_image(100, 50);
  PrepareRule rule = rule_of(kSize, false);
  rule.preprocessing.fit = Fit::Stretch;
  std::vector<uint8_t> out(kSize * kSize * 3), expected = out;
  Preparer(rule).from_pixels(image, {}, out.data());
  Resizer resizer;
  resize_box(image, {0, 0, 100, 50}, {kSize, kSize, 0, 0, kSize, kSize}, resizer, expected.data());
  EXPECT_EQ(out, expected);
}

TEST(Prepare, FlipsMirrorTheBarsToo) {
  // 33 rows of 48: 7 black above, 8 below.
  Image image = pattern_image(96, 66);
  PrepareRule rule = rule_of(kSize, true);
  rule.preprocessing.fit = Fit::Letterbox;
  rule.augmentation.random_crop = false;
  rule.augmentation.hflip = rule.augmentation.vflip = 0;
  std::vector<uint8_t> plain(kSize * kSize * 3), flipped = plain;
  Preparer(rule).from_pixels(image, {}, plain.data());
  rule.augmentation.hflip = rule.augmentation.vflip = 1;
  Preparer(rule).from_pixels(image, {}, flipped.data());
  constexpr size_t kPixels = size_t(kSize) * kSize;
  for (size_t i = 0; i < kPixels; ++i) {
    for (size_t c = 0; c < 3; ++c) {
      ASSERT_EQ(flipped[i * 3 + c], plain[(kPixels - 1 - i) * 3 + c]) << i;
    }
  }
}

TEST(Prepare, ColoursAndErasingLeaveCropAndFlipsAsTheyAre) {
  Image image = pattern_image(90, 70);
  PrepareRule rule = rule_of(kSize, true);
  int erased_pictures = 0, changed_pictures = 0;
  for (uint64_t id = 0; id < 200; ++id) {
    std::vector<uint8_t> plain(kSize * kSize * 3), erased = plain, recoloured = plain;
    Preparer(rule).from_pixels(image, {1, 2, id}, plain.data());
    PrepareRule with_erasing = rule;
    with_erasing.augmentation.erasing = 0.25;
    Preparer(with_erasing).from_pixels(image, {1, 2, id}, erased.data());
    erased_pictures += erased != plain;
    for (size_t i = 0; i < plain.size(); i += 3) {
      bool is_kept = std::equal(&plain[i], &plain[i] + 3, &erased[i]);
      ASSERT_TRUE(is_kept || (erased[i] == 124 && erased[i + 1] == 116 && erased[i + 2] == 104));
    }
    PrepareRule with_jitter = rule;
    with_jitter.augmentation.color_jitter = 0.01;
    Preparer(with_jitter).from_pixels(image, {1, 2, id}, recoloured.data());
    changed_pictures += recoloured != plain;
    for (size_t i = 0; i < plain.size(); ++i) ASSERT_NEAR(recoloured[i], plain[i], 8);
  }
  EXPECT_NEAR(erased_pictures, 50, 20);
  EXPECT_GT(changed_pictures, 190);
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
