#include "data/picture_print.h"

#include <bit>
#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "base/random.h"
#include "data/fixtures.h"

namespace pounce {
namespace {

using namespace test;

// A scene of soft blobs, another for each seed.
Image make_scene(uint64_t seed, int width, int height) {
  RandomStream random(seed, RandomPurpose::Test, 0, 0);
  struct Blob {
    double x, y, radius;
    std::array<double, 3> color;
  };
  std::vector<Blob> blobs;
  for (int i = 0; i < 12; ++i) {
    blobs.push_back(
        {random.uniform(),
         random.uniform(),
         random.uniform(0.05, 0.3),
         {random.uniform(-120, 120), random.uniform(-120, 120), random.uniform(-120, 120)}});
  }
  Image image{width, height, {}};
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      std::array<double, 3> color = {128, 128, 128};
      for (const Blob& blob : blobs) {
        double dx = (x + 0.5) / width - blob.x, dy = (y + 0.5) / height - blob.y;
        double share = std::exp(-(dx * dx + dy * dy) / (blob.radius * blob.radius));
        for (size_t c = 0; c < 3; ++c) color[c] += share * blob.color[c];
      }
      for (double value : color) image.rgb.push_back(uint8_t(std::clamp(value, 0.0, 255.0)));
    }
  }
  return image;
}

Image mirror(const Image& image) {
  Image turned = image;
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) {
      size_t to = (size_t(y) * size_t(image.width) + size_t(x)) * 3;
      size_t from = (size_t(y) * size_t(image.width) + size_t(image.width - 1 - x)) * 3;
      for (size_t c = 0; c < 3; ++c) turned.rgb[to + c] = image.rgb[from + c];
    }
  }
  return turned;
}

Image encode_again(const Image& image, int quality) {
  return decode_image(encode_jpeg(image, {.quality = quality, .subsampled = true})).value();
}

int distance(uint64_t a, uint64_t b) {
  return std::popcount(a ^ b);
}

TEST(PicturePrint, CopiesAreLikeTheirOriginal) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    Image image = make_scene(seed, 200, 150);
    PicturePrint print = make_print(image);
    PicturePrint again = make_print(encode_again(image, 40));
    PicturePrint smaller = make_print(make_scene(seed, 111, 83));
    PicturePrint turned = make_print(encode_again(mirror(image), 70));
    EXPECT_LE(distance(print.hash, again.hash), 7) << seed;
    EXPECT_LE(distance(print.hash, smaller.hash), 7) << seed;
    EXPECT_LE(distance(print.mirrored_hash, turned.hash), 7) << seed;
    EXPECT_EQ(compare_prints(print, again), Likeness::Same) << seed;
    EXPECT_EQ(compare_prints(print, smaller), Likeness::Same) << seed;
    EXPECT_EQ(compare_prints(print, turned), Likeness::Mirrored) << seed;
  }
}

TEST(PicturePrint, OtherPicturesAreNot) {
  std::vector<PicturePrint> prints;
  for (uint64_t seed = 0; seed < 60; ++seed) prints.push_back(make_print(make_scene(seed, 90, 90)));
  for (size_t i = 0; i < prints.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      EXPECT_EQ(compare_prints(prints[i], prints[j]), Likeness::Different) << i << " " << j;
    }
  }
}

TEST(PicturePrint, PlainAreasAreLikeNothing) {
  PicturePrint white = make_print(solid_image(50, 50, {255, 255, 255}));
  EXPECT_EQ(compare_prints(white, white), Likeness::Different);
  EXPECT_FALSE(has_structure(white));
  EXPECT_TRUE(has_structure(make_print(make_scene(0, 50, 50))));
}

TEST(PicturePrint, AnotherShapeIsAnotherPicture) {
  PicturePrint wide = make_print(make_scene(1, 200, 100)),
               square = make_print(make_scene(1, 99, 99));
  EXPECT_EQ(compare_prints(wide, square), Likeness::Different);
}

TEST(PicturePrint, TakesAnySize) {
  for (int width : {1, 2, 31, 32, 33, 500}) {
    for (int height : {1, 31, 33, 200}) {
      PicturePrint print = make_print(make_scene(3, width, height));
      PicturePrint solid = make_print(solid_image(width, height, {10, 200, 90}));
      if (width > 32 && height > 32) {
        uint64_t turned = make_print(mirror(make_scene(3, width, height))).hash;
        EXPECT_LE(distance(print.mirrored_hash, turned), 2) << width << " " << height;
      }
      // 0.299 * 10 + 0.587 * 200 + 0.114 * 90
      for (uint8_t grey : solid.grey) ASSERT_NEAR(grey, 131, 1);
    }
  }
}

TEST(HashSearch, FindsAllOfSevenBitsAndNoneOfEight) {
  RandomStream random(1, RandomPurpose::Test, 0, 0);
  std::vector<uint64_t> hashes;
  for (int i = 0; i < 400; ++i) {
    uint64_t hash = random.next_u64();
    hashes.push_back(hash);
    for (uint32_t flips = 1; flips <= 9; ++flips) {
      uint64_t near = hash;
      while (distance(near, hash) < int(flips)) near ^= uint64_t{1} << random.below(64);
      hashes.push_back(near);
    }
  }
  HashSearch search(hashes);
  for (size_t i = 0; i < hashes.size(); i += 7) {
    std::set<uint32_t> found, expected;
    search.for_each_near(hashes[i], [&](uint32_t index) { found.insert(index); });
    for (uint32_t j = 0; j < hashes.size(); ++j) {
      if (distance(hashes[i], hashes[j]) <= 7) expected.insert(j);
    }
    ASSERT_EQ(found, expected) << i;
  }
}

}  // namespace
}  // namespace pounce
