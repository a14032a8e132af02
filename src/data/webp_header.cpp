// The RIFF head of a WebP and its first chunk, which says how large the canvas is.
#include <cstring>

#include "data/codecs.h"
#include "data/header_reader.h"

namespace pounce {

// Source: "WebP Container Specification", RFC 6386 section 9.1, "WebP Lossless" section 2.
Result<ImageHeader> read_webp_header(HeaderReader& reader) {
  constexpr size_t kHeaderBytes = 30;
  Result<std::span<const uint8_t>> found = reader.bytes(0, kHeaderBytes);
  if (!found) return tl::make_unexpected(found.error());
  std::span<const uint8_t> head = *found;
  if (head.size() < 25) return damaged("cut WebP: the file ends in its header");
  // The RIFF size counts from behind itself; bytes after it do not matter.
  if (reader.size() < uint64_t(little_endian(head.subspan(4, 4))) + 8) {
    return damaged("cut WebP: the file is shorter than its header says");
  }
  auto is_chunk = [&](const char* name) { return std::memcmp(&head[12], name, 4) == 0; };
  int64_t width = 0, height = 0;
  if (is_chunk("VP8L") && head[20] == 0x2F) {
    uint32_t bits = little_endian(head.subspan(21, 4));
    width = (bits & 0x3FFF) + 1;
    height = (bits >> 14 & 0x3FFF) + 1;
  } else if (head.size() == kHeaderBytes && is_chunk("VP8X")) {
    width = int64_t(little_endian(head.subspan(24, 3))) + 1;
    height = int64_t(little_endian(head.subspan(27, 3))) + 1;
  } else if (head.size() == kHeaderBytes && is_chunk("VP8 ") &&
             std::memcmp(&head[23], "\x9D\x01\x2A", 3) == 0) {
    width = little_endian(head.subspan(26, 2)) & 0x3FFF;
    height = little_endian(head.subspan(28, 2)) & 0x3FFF;
  } else {
    return damaged("damaged WebP: its first chunk is not valid");
  }
  if (auto refused = check_extents(width, height)) return tl::make_unexpected(*refused);
  return ImageHeader{ImageFormat::WebP, int32_t(width), int32_t(height)};
}

}  // namespace pounce
