// A few bytes that announce vast pictures, and honest files that unpack a lot: the first are
// refused by their header, the second are not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/system.h"
#include "data/codecs.h"
#include "data/fixtures.h"
#include "data/header.h"

namespace pounce {
namespace {

using namespace test;
using testing::HasSubstr;

std::string words(const Error& error) {
  return std::string(error_kind_name(error.kind())) + ": " + error.message();
}

std::string header_verdict(const Bytes& bytes) {
  Result<ImageHeader> header = read_image_header(std::span<const uint8_t>(bytes));
  return header ? "ok" : words(header.error());
}

std::string verdict(const Bytes& bytes) {
  Result<Image> image = decode_image(bytes);
  return image ? "ok" : words(image.error());
}

// By the scan and by the decoder, without time or memory.
void expect_refused(const Bytes& bytes, const std::string& reason) {
  double started = monotonic_seconds();
  int64_t before = peak_resident_bytes();
  EXPECT_THAT(header_verdict(bytes), HasSubstr(reason));
  EXPECT_THAT(verdict(bytes), HasSubstr(reason));
  EXPECT_LT(monotonic_seconds() - started, 0.5);
  EXPECT_LT(peak_resident_bytes() - before, int64_t{16} << 20);
}

void put(Bytes& bytes, uint64_t value, int n) {
  for (int i = 0; i < n; ++i) bytes.push_back(uint8_t(value >> (8 * i)));
}

Bytes gif(uint64_t canvas, uint64_t frame) {
  Bytes bytes = {'G', 'I', 'F', '8', '9', 'a'};
  put(bytes, canvas, 2);
  put(bytes, canvas, 2);
  bytes.insert(bytes.end(), {0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0x2C});
  put(bytes, 0, 4);
  put(bytes, frame, 2);
  put(bytes, frame, 2);
  bytes.insert(bytes.end(), {0, 2, 2, 0x44, 1, 0, 0x3B});
  return bytes;
}

// RLE8 that ends at once.
Bytes bmp(uint64_t width, uint64_t height) {
  Bytes bytes = {'B', 'M'};
  put(bytes, 0, 8);
  put(bytes, 62, 4);  // of the runs, behind a palette of two colours
  put(bytes, 40, 4);
  put(bytes, width, 4);
  put(bytes, height, 4);
  put(bytes, 1, 2);
  put(bytes, 8, 2);
  put(bytes, 1, 4);
  put(bytes, 0, 8);
  put(bytes, 0, 4);
  put(bytes, 2, 8);
  put(bytes, 0xFF00, 8);
  bytes.insert(bytes.end(), {0, 1});
  return bytes;
}

// 8-bit RGB in one strip.
Bytes tiff(uint64_t width, uint64_t height, uint64_t compression, size_t packed) {
  Bytes bytes = {'I', 'I', 42, 0};
  put(bytes, 8 + packed, 4);
  bytes.resize(8 + packed);
  const uint64_t entries[][2] = {{256, width},       {257, height}, {258, 8},
                                 {259, compression}, {262, 2},      {273, 8},
                                 {277, 3},           {278, height}, {279, packed}};
  put(bytes, std::size(entries), 2);
  for (const auto& [tag, value] : entries) {
    put(bytes, tag, 2);
    put(bytes, 4, 2);
    put(bytes, 1, 4);
    put(bytes, value, 4);
  }
  put(bytes, 0, 4);
  return bytes;
}

TEST(Bombs, RunLengthsOfABmp) {
  expect_refused(bmp(19, 8'388'621), "cannot hold 19x8388621 pixels");
  expect_refused(bmp(13'000, 13'000), "cannot hold 13000x13000 pixels");
  // All of it one colour.
  EXPECT_EQ(verdict(bmp(2000, 2000)), "ok");
}

TEST(Bombs, FewBytesOfAPngCannotHoldAVastPicture) {
  for (bool is_interlaced : {false, true}) {
    Bytes bytes = encode_png({1, 1, 6, 16, is_interlaced, Bytes(8, 0)});
    // Two bytes each of the width and the height: 13377.
    bytes[18] = bytes[22] = 0x34;
    bytes[19] = bytes[23] = 0x41;
    expect_refused(bytes, "bytes cannot hold 13377x13377 pixels");
  }
}

TEST(Bombs, FlatPngsAreNone) {
  for (int depth : {1, 8, 16}) {
    for (bool is_interlaced : {false, true}) {
      constexpr int kSide = 2048;
      Bytes samples(size_t(kSide) * kSide * size_t(depth) / 8, 0);
      Bytes bytes = encode_png({kSide, kSide, 0, uint8_t(depth), is_interlaced, samples});
      EXPECT_EQ(verdict(bytes), "ok") << depth << " " << is_interlaced << " " << bytes.size();
      EXPECT_EQ(header_verdict(bytes), "ok");
    }
  }
}

TEST(Bombs, SixteenBitInterlacedPixelsAreThoseOfTheStraightPicture) {
  for (uint32_t width : {1U, 3U, 9U, 30U}) {
    for (uint32_t height : {1U, 2U, 5U, 17U}) {
      Bytes samples;
      for (uint32_t i = 0; i < width * height * 8; ++i) samples.push_back(uint8_t(i * 37 + i / 5));
      ASSERT_EQ(verdict(encode_png({width, height, 6, 16, false, samples})), "ok");
      ASSERT_EQ(verdict(encode_png({width, height, 6, 16, true, samples})), "ok")
          << width << "x" << height;
      Image straight = decode_image(encode_png({width, height, 6, 16, false, samples})).value();
      Image woven = decode_image(encode_png({width, height, 6, 16, true, samples})).value();
      EXPECT_EQ(straight.rgb, woven.rgb) << width << "x" << height;
      EXPECT_EQ(straight.rgb[0], (samples[0] * 256 + samples[1] + 128) / 257);
    }
  }
}

TEST(Bombs, FewBytesOfAGifCannotHoldAVastFrameOrCanvas) {
  expect_refused(gif(13000, 13000), "damaged GIF: 35 bytes cannot hold 13000x13000 pixels");
  expect_refused(gif(13000, 1), "damaged GIF: 35 bytes cannot hold 13000x13000 pixels");
  expect_refused(gif(1, 13000), "damaged GIF: 35 bytes cannot hold 13000x13000 pixels");
  EXPECT_EQ(header_verdict(gif(4096, 1)), "ok");
}

TEST(Bombs, FewBytesOfATiffCannotHoldAVastPicture) {
  for (int compression : {1, 5, 8, 32773}) {
    expect_refused(tiff(13000, 13000, uint64_t(compression), 1000),
                   "bytes cannot hold 13000x13000 pixels");
  }
  expect_refused(tiff(178956970, 1, 32773, 2000), "bytes cannot hold 178956970x1 pixels");
  EXPECT_EQ(header_verdict(tiff(20, 16, 1, 960)), "ok");
  EXPECT_THAT(header_verdict(tiff(20, 22, 1, 960)), testing::Not("ok"));
}

}  // namespace
}  // namespace pounce
