// What is too large, by the header and by the decoder alike; and what large pictures cost.
#include "data/jpeg_limits.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
// libjpeg's header needs size_t and FILE first.
#include <jpeglib.h>

#include "base/system.h"
#include "data/fixtures.h"
#include "data/header.h"
#include "data/prepare.h"

namespace pounce {
namespace {

using namespace test;
using testing::AllOf;
using testing::HasSubstr;

// A small JPEG that claims other extents.
Bytes with_extents(int width, int height, const JpegOptions& options) {
  Bytes bytes = encode_jpeg(pattern_image(64, 64), options);
  for (size_t i = 2; i + 8 < bytes.size(); ++i) {
    bool is_frame = bytes[i] == 0xFF && bytes[i + 1] >= 0xC0 && bytes[i + 1] <= 0xCA &&
                    bytes[i + 1] != 0xC4 && bytes[i + 1] != 0xC8;
    if (!is_frame) continue;
    bytes[i + 5] = uint8_t(height >> 8);
    bytes[i + 6] = uint8_t(height);
    bytes[i + 7] = uint8_t(width >> 8);
    bytes[i + 8] = uint8_t(width);
    break;
  }
  return bytes;
}

std::string words(const Error& error) {
  return std::string(error_kind_name(error.kind())) + ": " + error.message();
}

// Of the header reader, then of the decoder.
std::vector<std::string> verdicts(const Bytes& bytes) {
  TempDir dir;
  Result<ImageHeader> header = read_image_header(dir.put("x.jpg", bytes));
  Preparer preparer({.preprocessing = {.image_size = 16}, .augmentation = {.enabled = false}});
  std::vector<uint8_t> out(16 * 16 * 3);
  Result<void> done = preparer.from_bytes(bytes, {}, out.data());
  return {header ? "ok" : words(header.error()), done ? "ok" : words(done.error())};
}

TEST(JpegLimits, BombsAreRefusedByNameBeforeAnythingIsDecoded) {
  struct Case {
    int width, height;
    JpegOptions options;
    const char* kind;
    const char* reason;
  };
  JpegOptions progressive{.progressive = true, .subsampled = true};
  JpegOptions arithmetic{.subsampled = true, .arithmetic = true};
  const Case cases[] = {
      {20'000, 20'000, {}, "bad_data", "cannot hold 20000x20000 pixels"},
      {30'000, 30'000, {}, "unsupported", "more than the 536,870,912"},
      {65'501, 8, {}, "unsupported", "a side of more than 65,500 pixels"},
      {14'000, 14'000, progressive, "unsupported", "(progressive JPEG), whose 560 MiB"},
      {13'377, 13'377, {.progressive = true}, "unsupported", "1024 MiB of coefficients"},
      {14'000, 14'000, arithmetic, "unsupported", "more than the 178,956,970"},
  };
  for (const Case& c : cases) {
    double start = monotonic_seconds();
    for (const std::string& verdict : verdicts(with_extents(c.width, c.height, c.options))) {
      EXPECT_THAT(verdict, AllOf(HasSubstr(c.kind), HasSubstr(c.reason)));
    }
    EXPECT_LT(monotonic_seconds() - start, 1.0);
  }
  // The same kinds at an honest size.
  for (const JpegOptions& options : {JpegOptions{}, progressive, arithmetic}) {
    EXPECT_THAT(verdicts(with_extents(64, 64, options)), testing::Each("ok"));
  }
}

TEST(JpegLimits, CoefficientsCountTheSamplingOfComponents) {
  JpegShape shape{.width = 13'000, .height = 13'000, .is_arithmetic = false, .has_passes = true};
  shape.components = 3;
  EXPECT_TRUE(check_jpeg_shape(shape, 1 << 20));  // 4:4:4: 6 bytes a pixel
  shape.sampling[0] = {2, 2};
  EXPECT_FALSE(check_jpeg_shape(shape, 1 << 20));  // 4:2:0: 3 bytes a pixel
  // Grey: 2 bytes a pixel, so more pixels than other formats may have.
  JpegShape grey{.width = 16'000, .height = 16'000, .is_arithmetic = false, .has_passes = true};
  grey.components = 1;
  EXPECT_FALSE(check_jpeg_shape(grey, 1 << 20));
  grey.width = 17'000;
  EXPECT_TRUE(check_jpeg_shape(grey, 1 << 20));
}

// A baseline JPEG, encoded row by row.
Bytes encode_large(int side) {
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* buffer = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &buffer, &size);
  info.image_width = info.image_height = JDIMENSION(side);
  info.in_color_space = JCS_RGB;
  info.input_components = 3;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, 50, TRUE);
  jpeg_start_compress(&info, TRUE);
  std::vector<uint8_t> row(size_t(side) * 3);
  for (int y = 0; y < side; ++y) {
    for (int x = 0; x < side; ++x) {
      uint8_t* pixel = &row[size_t(x) * 3];
      pixel[0] = uint8_t(255LL * x / side);
      pixel[1] = uint8_t(255LL * y / side);
      pixel[2] = 90;
    }
    JSAMPROW place = row.data();
    jpeg_write_scanlines(&info, &place, 1);
  }
  jpeg_finish_compress(&info);
  Bytes bytes(buffer, buffer + size);
  jpeg_destroy_compress(&info);
  std::free(buffer);
  return bytes;
}

constexpr int kLargeSide = 14'000;
constexpr int64_t kMostGrowth = 200 << 20;

// Prepares the picture and leaves the process: 0 when it looks right and memory stayed small.
[[noreturn]] void prepare_large(const Bytes& file, bool is_training) {
  int64_t before = resident_bytes();
  PrepareRule rule;
  rule.augmentation.enabled = is_training;
  rule.augmentation.hflip = 0;
  std::vector<uint8_t> out(224 * 224 * 3);
  Result<void> done = Preparer(rule).from_bytes(file, {1, 2, 3}, out.data());
  bool is_gradient = out[0] < out[223 * 3] && out[1] < out[223 * 224 * 3 + 1];
  int64_t growth = peak_resident_bytes() - before;
  std::fprintf(stderr, "grew by %lld MiB\n", static_cast<long long>(growth >> 20));
  std::_Exit(done && is_gradient && growth < kMostGrowth ? 0 : 1);
}

TEST(JpegLimits, AHonestLargePictureNeedsLittleMemory) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers need memory of their own";
#endif
  Bytes file = encode_large(kLargeSide);
  TempDir dir;
  Result<ImageHeader> header = read_image_header(dir.put("large.jpg", file));
  ASSERT_TRUE(header) << header.error().message();
  EXPECT_EQ(header->width, kLargeSide);
  // Each in a process of its own, whose peak is its own, too.
  EXPECT_EXIT(prepare_large(file, true), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(prepare_large(file, false), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace pounce
