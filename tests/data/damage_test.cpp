// Damage that libraries pass over: they warn, or say nothing, and hand out a picture.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "cases.h"
#include "data/av1_sequence.h"
#include "data/codecs.h"
#include "data/fixtures.h"

namespace pounce {
namespace {

using namespace test;
using testing::HasSubstr;
using testing::StartsWith;

Bytes seed(const std::string& name) {
  return read_file(std::string(POUNCE_SOURCE_DIR) + "/fuzz/corpus/" + name).value();
}

std::string verdict(const Bytes& bytes) {
  Result<Image> image = decode_image(bytes);
  if (image) return fmt::format("ok {}x{}", image->width, image->height);
  return std::string(error_kind_name(image.error().kind())) + ": " + image.error().message();
}

uint64_t little(const Bytes& bytes, size_t at, size_t n) {
  uint64_t value = 0;
  for (size_t i = n; i-- > 0;) value = value << 8 | bytes.at(at + i);
  return value;
}

// The only strip of a little-endian TIFF.
std::span<uint8_t> strip_of(Bytes& tiff) {
  size_t directory = little(tiff, 4, 4), offset = 0, size = 0;
  for (size_t i = 0; i < little(tiff, directory, 2); ++i) {
    size_t entry = directory + 2 + 12 * i;
    size_t bytes = little(tiff, entry + 2, 2) == 3 ? 2 : 4;
    if (little(tiff, entry, 2) == 273) offset = little(tiff, entry + 8, bytes);
    if (little(tiff, entry, 2) == 279) size = little(tiff, entry + 8, bytes);
  }
  return std::span(tiff).subspan(offset, size);
}

TEST(Damage, OverwrittenStripsOfATiff) {
  if (!can_decode(ImageFormat::Tiff)) GTEST_SKIP() << format_problem(ImageFormat::Tiff)->message();
  for (const char* name : {"tiff/group4.tif", "tiff/jpeg.tif", "tiff/lzw.tif"}) {
    ASSERT_THAT(verdict(seed(name)), StartsWith("ok")) << name;
    for (std::vector<uint8_t> filling : {Bytes{0, 0}, Bytes{0x55, 0x55}, Bytes{0xFF, 0xD9}}) {
      Bytes bytes = seed(name);
      std::span<uint8_t> strip = strip_of(bytes);
      ASSERT_GT(strip.size(), 8U) << name;
      for (size_t i = strip.size() / 2; i < strip.size(); ++i) strip[i] = filling[i % 2];
      EXPECT_THAT(verdict(bytes), StartsWith("bad_data: damaged TIFF")) << name << +filling[0];
    }
  }
}

// The file with other extents in its properties.
Bytes declaring(Bytes bytes, uint32_t width, uint32_t height) {
  constexpr uint8_t kName[] = {'i', 's', 'p', 'e'};
  for (auto from = bytes.begin();;) {
    auto found = std::search(from, bytes.end(), std::begin(kName), std::end(kName));
    if (found == bytes.end()) break;
    for (int i = 0; i < 4; ++i) {
      found[8 + i] = uint8_t(width >> (24 - 8 * i));
      found[12 + i] = uint8_t(height >> (24 - 8 * i));
    }
    from = found + 16;
  }
  return bytes;
}

TEST(Damage, DeclaredExtentsThatThePictureDoesNotHave) {
  for (const char* name : {"avif/plain.avif", "heic/plain.heic"}) {
    Bytes bytes = seed(name);
    if (!can_decode(sniff_format(bytes))) continue;
    EXPECT_THAT(verdict(bytes), StartsWith("ok")) << name;
    EXPECT_THAT(verdict(declaring(bytes, 13000, 13000)),
                HasSubstr("it declares 13000x13000 pixels and holds"))
        << name;
  }
}

TEST(Damage, ExtentsOfAnAv1Stream) {
  // A temporal delimiter, then the header of a still picture of 6 bits each: 64x33.
  const Bytes stream = {0x12, 0x00, 0x0A, 0x04, 0x18, 0x15, 0x7F, 0x82};
  auto extents = av1_extents(stream);
  ASSERT_TRUE(extents);
  EXPECT_EQ(extents->width, 64);
  EXPECT_EQ(extents->height, 33);
  for (size_t n = 0; n < stream.size(); ++n) EXPECT_FALSE(av1_extents(std::span(stream).first(n)));
}

TEST(Damage, MissingPixelsOfAHeic) {
  if (!can_decode(ImageFormat::Heic)) GTEST_SKIP() << format_problem(ImageFormat::Heic)->message();
  std::string folder = environment("POUNCE_TEST_DATA", "");
  if (folder.empty()) GTEST_SKIP() << "POUNCE_TEST_DATA is not set";
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer's allocator fills memory the same way each time";
#endif
  Bytes bytes = read_file(folder + "/data/odd/heic.heic").value();
  EXPECT_THAT(verdict(bytes), StartsWith("ok"));
  bytes.at(1612) ^= 0x10;
  EXPECT_EQ(verdict(bytes), "bad_data: damaged HEIC: its pixels come out differently each time");
}

}  // namespace
}  // namespace pounce
