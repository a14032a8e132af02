// What a BMP's headers say, for the decoder and for the header reader. Internal to src/data.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "base/error.h"

namespace pounce {

enum class BmpCoding { Raw, Rle8, Rle4, Bitfields };

struct BmpLayout {
  int32_t width = 0, height = 0;
  bool is_top_down = false;
  int bits = 0;  // a pixel: 1, 4, 8 (palette), 16, 24, 32
  BmpCoding coding = BmpCoding::Raw;
  std::array<uint32_t, 3> masks{};  // red, green, blue; Bitfields only
  uint64_t palette_offset = 0;
  int palette_colours = 0, palette_stride = 4;  // bytes a colour: blue, green, red, maybe one more
  uint64_t pixel_offset = 0;

  // A row takes a multiple of four bytes.
  uint64_t row_bytes() const { return (uint64_t(width) * uint64_t(bits) + 31) / 32 * 4; }
  // Where uncompressed pixels end; the last row's padding may be missing.
  uint64_t pixel_end() const;
};

// Enough of a file's beginning for its layout.
constexpr size_t kBmpHeadBytes = 14 + 124 + 16;

// `head`: the first kBmpHeadBytes of the file, fewer where it is shorter. Kinds BadData and
// Unsupported. Extents are checked.
Result<BmpLayout> read_bmp_layout(std::span<const uint8_t> head);

// Refuses a file that is too short for its pixels: kind BadData. Run lengths may leave pixels out,
// but not nearly all of a large picture.
std::optional<Error> check_bmp_pixels(const BmpLayout& layout, uint64_t file_bytes);

}  // namespace pounce
