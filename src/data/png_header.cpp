// The header chunk of a PNG, and whether its end chunk is there.
#include <algorithm>
#include <cstring>

#include "data/codecs.h"
#include "data/header_reader.h"

namespace pounce {
namespace {

bool is_valid_png_depth(uint8_t depth, uint8_t color_type) {
  bool is_power = depth == 1 || depth == 2 || depth == 4 || depth == 8 || depth == 16;
  switch (color_type) {
    case 0:
      return is_power;
    case 3:
      return is_power && depth <= 8;
    case 2:
    case 4:
    case 6:
      return depth == 8 || depth == 16;
    default:
      return false;
  }
}

uint64_t samples_of(uint8_t color_type) {
  switch (color_type) {
    case 2:
      return 3;
    case 4:
      return 2;
    case 6:
      return 4;
    default:
      return 1;
  }
}

// At least what the pixels are unpacked: their bits, and the filter's byte before each row. The
// rows of the seven passes of an interlaced picture are no fewer.
uint64_t unpacked_bytes(std::span<const uint8_t> head, int64_t width, int64_t height) {
  uint64_t bits = uint64_t(width) * uint64_t(height) * samples_of(head[25]) * head[24];
  return bits / 8 + uint64_t(height);
}

}  // namespace

Result<ImageHeader> read_png_header(HeaderReader& reader) {
  constexpr size_t kHeaderBytes = 8 + 8 + 13;  // signature, chunk head, IHDR
  Result<std::span<const uint8_t>> found = reader.bytes(0, kHeaderBytes);
  if (!found) return tl::make_unexpected(found.error());
  if (found->size() < kHeaderBytes) return damaged("cut PNG: the file ends in its header");
  std::span<const uint8_t> head = *found;
  bool is_ihdr = big_endian(head.subspan(8, 4)) == 13 && std::memcmp(&head[12], "IHDR", 4) == 0;
  if (!is_ihdr || !is_valid_png_depth(head[24], head[25])) {
    return damaged("damaged PNG: its header chunk is not valid");
  }
  int64_t width = big_endian(head.subspan(16, 4)), height = big_endian(head.subspan(20, 4));
  if (auto refused = check_extents(width, height)) return tl::make_unexpected(*refused);
  PackedPixels pixels{unpacked_bytes(head, width, height), reader.size(), kMostPerDeflateByte};
  if (auto refused = check_capacity(ImageFormat::Png, width, height, pixels)) {
    return tl::make_unexpected(*refused);
  }
  std::vector<uint8_t> tail(size_t(std::min<uint64_t>(kTailBytes, reader.size())));
  Result<size_t> got = reader.read_at(reader.size() - tail.size(), tail);
  if (!got) return tl::make_unexpected(got.error());
  constexpr uint8_t kEnd[] = {0, 0, 0, 0, 'I', 'E', 'N', 'D'};
  auto end = std::search(tail.begin(), tail.end(), std::begin(kEnd), std::end(kEnd));
  if (end == tail.end()) return damaged("cut PNG: no end chunk");
  return ImageHeader{ImageFormat::Png, int32_t(width), int32_t(height)};
}

}  // namespace pounce
