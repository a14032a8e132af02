#include "data/decode.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/codecs.h"
#include "data/fixtures.h"
#include "data/header.h"

namespace pounce {
namespace {

using namespace test;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<uint8_t> pixel(const Image& image, int x, int y) {
  auto at = image.rgb.begin() + 3 * (int64_t(y) * image.width + x);
  return {at, at + 3};
}

// "damaged: reason", "unsupported: reason" or "ok".
std::string outcome(const Result<Image>& image) {
  if (image) return "ok";
  return std::string(error_kind_name(image.error().kind())) + ": " + image.error().message();
}

std::string header_outcome(const Bytes& bytes) {
  TempDir dir;
  Result<ImageHeader> header = read_image_header(dir.put("x.jpg", bytes));
  if (header) return fmt::format("ok {}x{}", header->width, header->height);
  return std::string(error_kind_name(header.error().kind())) + ": " + header.error().message();
}

int worst_difference(const Image& a, const Image& b) {
  int worst = a.width == b.width && a.height == b.height ? 0 : 256;
  for (size_t i = 0; worst < 256 && i < a.rgb.size(); ++i) {
    worst = std::max(worst, std::abs(int(a.rgb[i]) - int(b.rgb[i])));
  }
  return worst;
}

TEST(DecodeJpeg, BaselineAndProgressiveGiveThePicture) {
  Image original = solid_image(40, 24, {200, 30, 90});
  for (bool progressive : {false, true}) {
    for (bool subsampled : {false, true}) {
      Bytes bytes = encode_jpeg(original, {100, progressive, subsampled});
      EXPECT_LE(worst_difference(decode_image(bytes).value(), original), 3);
      EXPECT_EQ(header_outcome(bytes), "ok 40x24");
    }
  }
}

TEST(DecodeJpeg, GreyBecomesThreeEqualChannels) {
  Image image = decode_image(encode_grey_jpeg(9, 77)).value();
  EXPECT_THAT(pixel(image, 4, 4), ElementsAre(77, 77, 77));
}

TEST(DecodeJpeg, CmykConvertsAsPillowDoes) {
  // Stored inverted: 255 is no ink. Ink (0, 128, 255, 64) is Pillow's (191, 95, 0).
  EXPECT_THAT(pixel(decode_image(encode_cmyk_jpeg(16, {255, 127, 0, 191})).value(), 8, 8),
              ElementsAre(191, 95, 0));
  EXPECT_THAT(pixel(decode_image(encode_cmyk_jpeg(16, {255, 255, 255, 255})).value(), 8, 8),
              ElementsAre(255, 255, 255));
  EXPECT_THAT(pixel(decode_image(encode_cmyk_jpeg(16, {255, 255, 255, 0})).value(), 8, 8),
              ElementsAre(0, 0, 0));
}

TEST(DecodeJpeg, ATruncatedBodyIsDamaged) {
  for (bool progressive : {false, true}) {
    Bytes bytes = encode_jpeg(pattern_image(64, 64), {95, progressive});
    bytes.resize(bytes.size() / 2);
    EXPECT_THAT(outcome(decode_image(bytes)), HasSubstr("bad_data: damaged JPEG"));
    EXPECT_THAT(header_outcome(bytes), HasSubstr("bad_data: cut JPEG: no end marker"));
  }
}

TEST(DecodeJpeg, AMissingEndMarkerIsDamaged) {
  Bytes bytes = encode_jpeg(pattern_image(64, 64));
  bytes.resize(bytes.size() - 2);
  EXPECT_THAT(outcome(decode_image(bytes)), HasSubstr("bad_data"));
  EXPECT_THAT(header_outcome(bytes), HasSubstr("no end marker"));
}

TEST(DecodeJpeg, TrailingBytesAreFine) {
  Bytes bytes = encode_jpeg(pattern_image(64, 64));
  Image clean = decode_image(bytes).value();
  for (size_t extra : {1U, 1600U, 200000U}) {
    Bytes longer = bytes;
    longer.resize(bytes.size() + extra, 0x11);
    EXPECT_EQ(decode_image(longer).value().rgb, clean.rgb);
    EXPECT_EQ(header_outcome(longer), "ok 64x64") << extra;
  }
}

TEST(DecodeJpeg, AnEndMarkerInAThumbnailDoesNotCount) {
  // A comment segment that holds the two bytes, then a picture cut before its own.
  Bytes bytes = encode_jpeg(pattern_image(64, 64));
  Bytes comment = {0xFF, 0xFE, 0x00, 0x04, 0xFF, 0xD9};
  bytes.insert(bytes.begin() + 2, comment.begin(), comment.end());
  EXPECT_EQ(header_outcome(bytes), "ok 64x64");
  bytes.resize(bytes.size() - 2);
  EXPECT_THAT(header_outcome(bytes), HasSubstr("no end marker"));
}

TEST(DecodeJpeg, CorruptEntropyDataIsDamaged) {
  Bytes bytes = encode_jpeg(pattern_image(128, 128));
  std::fill(bytes.begin() + int64_t(bytes.size() / 2), bytes.end() - 2, uint8_t{0x55});
  EXPECT_EQ(header_outcome(bytes), "ok 128x128");
  EXPECT_THAT(outcome(decode_image(bytes)), HasSubstr("bad_data: damaged JPEG"));
}

TEST(DecodeJpeg, EveryCutEndsInAnErrorAndNeverElsewhere) {
  Bytes bytes = encode_jpeg(pattern_image(24, 24), {90, true, true, 6});
  for (size_t n = 0; n < bytes.size(); ++n) {
    Bytes part(bytes.begin(), bytes.begin() + int64_t(n));
    EXPECT_FALSE(decode_image(part)) << n;
    EXPECT_NE(header_outcome(part).substr(0, 2), "ok") << n;
  }
}

TEST(DecodeJpeg, OrientationTurnsThePictureUpright) {
  // The picture as eight cameras store it; top left is red when upright.
  Image upright = solid_image(16, 8, {0, 0, 255});
  for (int y = 0; y < 4; ++y) {
    for (int x = 0; x < 8; ++x) {
      upright.rgb[size_t(3 * (y * 16 + x))] = 255;
      upright.rgb[size_t(3 * (y * 16 + x)) + 2] = 0;
    }
  }
  constexpr int kInverse[] = {0, 1, 2, 3, 4, 5, 8, 7, 6};
  for (int orientation = 1; orientation <= 8; ++orientation) {
    Image stored = upright;
    apply_orientation(stored, kInverse[orientation]);
    Bytes bytes = encode_jpeg(stored, {100, false, false, orientation});
    Image image = decode_image(bytes).value();
    EXPECT_LE(worst_difference(image, upright), 4) << orientation;
    Image as_stored = decode_image(bytes, {.exif = false}).value();
    EXPECT_LE(worst_difference(as_stored, stored), 4) << orientation;
  }
}

TEST(Exif, TheLongerTypeCountsToo) {
  Bytes tiff = {'M', 'M', 0, 42, 0, 0, 0, 8, 0, 1, 0x01, 0x12, 0, 4, 0, 0, 0, 1, 0, 0, 0, 6};
  EXPECT_EQ(exif_orientation(tiff), 6);
  tiff[18] = 1;  // 65542
  EXPECT_EQ(exif_orientation(tiff), 1);
}

TEST(Exif, MalformedDirectoriesMeanUpright) {
  EXPECT_EQ(exif_orientation({}), 1);
  Bytes tiff = {'M', 'M', 0, 42, 0, 0, 0, 8, 0, 1, 0x01, 0x12, 0, 3, 0, 0, 0, 1, 0, 6, 0, 0};
  EXPECT_EQ(exif_orientation(tiff), 6);
  for (size_t n = 0; n < 20; ++n) {
    EXPECT_EQ(exif_orientation(std::span(tiff).first(n)), 1) << n;
  }
  Bytes far = tiff;
  far[4] = far[5] = far[6] = far[7] = 0xFF;
  EXPECT_EQ(exif_orientation(far), 1);
  Bytes two_longs = {'M', 'M', 0, 42, 0, 0, 0, 8, 0, 1, 0x01, 0x12, 0, 4, 0, 0, 0, 2, 0, 0, 0, 6};
  EXPECT_EQ(exif_orientation(two_longs), 1);
  Bytes nine = tiff;
  nine[19] = 9;
  EXPECT_EQ(exif_orientation(nine), 1);
}

TEST(DecodePng, SixteenBitsScaleByRounding) {
  Bytes samples;
  for (int v : {0, 128, 255, 256, 10000, 32768, 40000, 65535, 65280, 257}) {
    samples.push_back(uint8_t(v >> 8));
    samples.push_back(uint8_t(v));
  }
  Image image = decode_image(encode_png({5, 2, 0, 16, false, samples})).value();
  std::vector<uint8_t> levels;
  for (size_t i = 0; i < image.rgb.size(); i += 3) levels.push_back(image.rgb[i]);
  EXPECT_THAT(levels, ElementsAre(0, 0, 1, 1, 39, 128, 156, 255, 254, 1));
  EXPECT_THAT(pixel(image, 1, 1), ElementsAre(156, 156, 156));
}

TEST(DecodePng, PaletteAndAlphaKeepTheStoredColours) {
  Image palette = decode_image(encode_png({2, 1, 3, 8, false, {0, 1}})).value();
  EXPECT_THAT(palette.rgb, ElementsAre(10, 20, 30, 200, 100, 50));
  Bytes rgba = {255, 0, 0, 0, 0, 255, 0, 128};
  EXPECT_THAT(decode_image(encode_png({2, 1, 6, 8, false, rgba})).value().rgb,
              ElementsAre(255, 0, 0, 0, 255, 0));
  EXPECT_THAT(decode_image(encode_png({2, 1, 4, 8, false, {9, 0, 70, 255}})).value().rgb,
              ElementsAre(9, 9, 9, 70, 70, 70));
  Bytes rgba16 = {0x9C, 0x40, 0, 0, 255, 255, 0, 0};
  EXPECT_THAT(decode_image(encode_png({1, 1, 6, 16, false, rgba16})).value().rgb,
              ElementsAre(156, 0, 255));
}

TEST(DecodePng, FewBitsScaleToTheFullRange) {
  EXPECT_THAT(decode_image(encode_png({2, 1, 0, 1, false, {0x40}})).value().rgb,
              ElementsAre(0, 0, 0, 255, 255, 255));
  EXPECT_THAT(decode_image(encode_png({4, 1, 0, 2, false, {0x1B}})).value().rgb,
              ElementsAre(0, 0, 0, 85, 85, 85, 170, 170, 170, 255, 255, 255));
}

TEST(DecodePng, CutsAndFlippedBitsAreDamaged) {
  Image picture = pattern_image(31, 17);
  Bytes bytes = encode_png(picture);
  EXPECT_EQ(decode_image(bytes).value().rgb, picture.rgb);
  EXPECT_EQ(header_outcome(bytes), "ok 31x17");
  // Only the checksum of the empty end chunk may be missing.
  for (size_t n = 0; n < bytes.size() - 4; ++n) {
    Bytes part(bytes.begin(), bytes.begin() + int64_t(n));
    EXPECT_FALSE(decode_image(part)) << n;
  }
  for (size_t at = 8; at < bytes.size(); at += 3) {
    Bytes flipped = bytes;
    flipped[at] ^= 0x10;
    EXPECT_FALSE(decode_image(flipped)) << at;
  }
  bytes.resize(bytes.size() - 8);
  EXPECT_THAT(header_outcome(bytes), HasSubstr("cut PNG"));
}

TEST(Decode, NamesWhatItCannotRead) {
  EXPECT_THAT(outcome(decode_image(Bytes{})), HasSubstr("bad_data: the file is empty"));
  std::string html = "<!doctype html><title>404</title>";
  EXPECT_THAT(outcome(decode_image(Bytes(html.begin(), html.end()))),
              HasSubstr("bad_data: the content is not an image"));
  std::string pnm("P6\n1 1\n255\n...");
  EXPECT_THAT(outcome(decode_image(Bytes(pnm.begin(), pnm.end()))), HasSubstr("unsupported: PNM"));
}

TEST(Decode, RefusesBombsByTheirHeader) {
  Bytes bytes = encode_jpeg(solid_image(8, 8, {1, 2, 3}));
  // The frame header: marker, length, precision, height, width.
  constexpr uint8_t kFrame[] = {0xFF, 0xC0};
  auto at = std::search(bytes.begin(), bytes.end(), std::begin(kFrame), std::end(kFrame));
  std::fill(at + 5, at + 9, uint8_t{0xEA});
  EXPECT_THAT(outcome(decode_image(bytes)), HasSubstr("unsupported: 60138x60138 pixels"));
  EXPECT_THAT(header_outcome(bytes), HasSubstr("unsupported: 60138x60138 pixels"));
}

TEST(Decode, TwelveBitsAreNamed) {
  Bytes bytes = encode_jpeg(solid_image(8, 8, {1, 2, 3}));
  constexpr uint8_t kFrame[] = {0xFF, 0xC0};
  auto at = std::search(bytes.begin(), bytes.end(), std::begin(kFrame), std::end(kFrame));
  at[4] = 12;
  EXPECT_THAT(outcome(decode_image(bytes)), HasSubstr("unsupported: JPEG with more than 8 bits"));
  EXPECT_THAT(header_outcome(bytes), HasSubstr("unsupported: JPEG with 12 bits"));
}

TEST(Sniff, KnowsTheFormatsOfPhotoFolders) {
  auto sniff = [](std::string_view text) {
    return format_name(sniff_format({reinterpret_cast<const uint8_t*>(text.data()), text.size()}));
  };
  using namespace std::string_view_literals;
  EXPECT_EQ(sniff("GIF89a"), "GIF");
  EXPECT_EQ(sniff("BM\0\0\0\0\0\0\0\0"sv), "BMP");
  EXPECT_EQ(sniff("BMW is a car maker"), "unknown");
  EXPECT_EQ(sniff("II*\0"sv), "TIFF");
  EXPECT_EQ(sniff("\0\0\0\x18"
                  "ftypheic"sv),
            "HEIC");
  EXPECT_EQ(sniff("\0\0\0\x20"
                  "ftypmif1\0\0\0\0mif1avif"sv),
            "AVIF");
  EXPECT_EQ(sniff("P6\n"), "PNM");
  EXPECT_EQ(sniff("PK\3\4"), "unknown");
}

}  // namespace
}  // namespace pounce
