#include "data/jpeg_limits.h"

#include <algorithm>

#include "base/text.h"
#include "data/codecs.h"

namespace pounce {
namespace {

constexpr int64_t kBlockSide = 8;

int64_t divide_up(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

// Blocks of 8x8 samples of all components.
int64_t count_blocks(const JpegShape& shape) {
  int components = std::min(shape.components, int(shape.sampling.size()));
  int most_horizontal = 1, most_vertical = 1;
  for (int i = 0; i < components; ++i) {
    most_horizontal = std::max(most_horizontal, shape.sampling[size_t(i)].horizontal);
    most_vertical = std::max(most_vertical, shape.sampling[size_t(i)].vertical);
  }
  int64_t blocks = 0;
  for (int i = 0; i < components; ++i) {
    const JpegShape::Sampling& own = shape.sampling[size_t(i)];
    blocks += divide_up(shape.width * own.horizontal, kBlockSide * most_horizontal) *
              divide_up(shape.height * own.vertical, kBlockSide * most_vertical);
  }
  return blocks;
}

std::optional<Error> too_many_pixels(const JpegShape& shape, int64_t limit) {
  return Error(ErrorKind::Unsupported,
               fmt::format("{}x{} pixels, more than the {} that are decoded (it may be a "
                           "decompression bomb)",
                           shape.width, shape.height, group_digits(limit)));
}

}  // namespace

std::optional<Error> check_jpeg_shape(const JpegShape& shape, uint64_t file_bytes) {
  // Also says what is wrong with a picture without pixels.
  if (shape.width <= 0 || shape.height <= 0) return check_extents(shape.width, shape.height);
  int64_t pixels = shape.width * shape.height;
  bool is_streamed_huffman = !shape.is_arithmetic && !shape.has_passes;
  // Of the coefficients of several passes the bytes are limited, below.
  int64_t limit = shape.is_arithmetic && !shape.has_passes ? kMaxPixels : kMaxStreamedJpegPixels;
  if (pixels > limit) return too_many_pixels(shape, limit);
  if (std::max(shape.width, shape.height) > kMaxJpegSide) {
    return Error(ErrorKind::Unsupported,
                 fmt::format("a side of more than {} pixels", group_digits(kMaxJpegSide)));
  }
  int64_t blocks = count_blocks(shape);
  constexpr int64_t kCoefficientBytes = kBlockSide * kBlockSide * 2;
  if (shape.has_passes && blocks * kCoefficientBytes > kMaxJpegCoefficientBytes) {
    return Error(ErrorKind::Unsupported,
                 fmt::format("{}x{} pixels in several passes (progressive JPEG), whose {} MiB of "
                             "coefficients are more than the {} that are decoded",
                             shape.width, shape.height, blocks * kCoefficientBytes >> 20,
                             kMaxJpegCoefficientBytes >> 20));
  }
  // A Huffman code has at least one bit, and a block at least two codes. Where several passes
  // follow, one code may stand for thousands of blocks.
  constexpr int64_t kBlocksPerByte = 4;
  if (is_streamed_huffman && blocks / kBlocksPerByte > int64_t(file_bytes)) {
    return cannot_hold(ImageFormat::Jpeg, shape.width, shape.height, file_bytes);
  }
  return std::nullopt;
}

}  // namespace pounce
