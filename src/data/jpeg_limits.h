// How large a JPEG may be, judged from its header: by the scan, and again before decoding.
// Internal to src/data.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "data/decode.h"

namespace pounce {

// Pictures coded block after block are decoded row by row, so their pixels need not fit in memory.
constexpr int64_t kMaxStreamedJpegPixels = int64_t(1) << 29;
// libjpeg keeps the coefficients of a picture that comes in several passes, 2 bytes a sample.
constexpr int64_t kMaxJpegCoefficientBytes = int64_t(512) << 20;
// Of libjpeg.
constexpr int64_t kMaxJpegSide = 65'500;

struct JpegShape {
  int64_t width = 0, height = 0;
  bool is_arithmetic = false;
  bool has_passes = false;  // progressive, or a scan for each component
  int components = 0;       // at most 4 are looked at
  struct Sampling {
    int horizontal = 1, vertical = 1;
  };
  std::array<Sampling, 4> sampling{};
};

// What speaks against decoding a file of this shape and length; nullopt when nothing does.
std::optional<Error> check_jpeg_shape(const JpegShape& shape, uint64_t file_bytes);

}  // namespace pounce
