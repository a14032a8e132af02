// Images made in the test, so that most data tests need no files from elsewhere.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/temp_dir.h"
#include "data/decode.h"

namespace pounce::test {

using Bytes = std::vector<uint8_t>;

// A busy picture by formula; the golden values of tests/data were made from the same one.
Image pattern_image(int width, int height);
Image solid_image(int width, int height, std::vector<uint8_t> rgb);

struct JpegOptions {
  int quality = 95;
  bool progressive = false;
  bool subsampled = false;
  int orientation = 0;  // 0: no EXIF
  // Luma samples to one of chroma; 0: as `subsampled` says.
  int horizontal = 0, vertical = 0;
  int restart_interval = 0;  // MCUs
  bool arithmetic = false;
  bool grey = false;
  bool as_rgb = false;  // three colour planes stored as they are
};
Bytes encode_jpeg(const Image& image, const JpegOptions& options = {});
// Four equal planes, stored as given.
Bytes encode_cmyk_jpeg(int size, const std::vector<uint8_t>& cmyk);
Bytes encode_grey_jpeg(int size, uint8_t level);

// `samples`: rows as PNG stores them (16-bit values big-endian).
struct PngPicture {
  uint32_t width = 0, height = 0;
  uint8_t color_type = 2, bit_depth = 8;
  bool interlaced = false;
  Bytes samples;
};
Bytes encode_png(const PngPicture& picture);
Bytes encode_png(const Image& image);

// FNV-1a, 64 bits: easy to compute anywhere.
uint64_t fnv(const uint8_t* bytes, size_t n);

}  // namespace pounce::test
