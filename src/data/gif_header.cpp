// The first frame of a GIF and its canvas, and whether the file reaches behind that frame.
#include <algorithm>

#include "data/codecs.h"
#include "data/header_reader.h"

namespace pounce {
namespace {

constexpr uint8_t kExtension = 0x21, kFrame = 0x2C, kTrailer = 0x3B;

Result<ImageHeader> cut_gif(const char* where) {
  return damaged(fmt::format("cut GIF: the file ends in its {}", where));
}

uint64_t palette_bytes(uint8_t flags) {
  return flags & 0x80 ? uint64_t{3} << ((flags & 7) + 1) : 0;
}

// Moves `at` behind a chain of blocks, each led by its length; false where the file ends before.
Result<bool> skip_blocks(HeaderReader& reader, uint64_t& at) {
  for (;;) {
    Result<std::span<const uint8_t>> length = reader.bytes(at, 1);
    if (!length) return tl::make_unexpected(length.error());
    if (length->empty()) return false;
    at += 1 + uint64_t((*length)[0]);
    if ((*length)[0] == 0) return true;
  }
}

// Whether the pixels that begin at `at` are all there. The usual file ends with the trailer, and
// one that was cut seldom does.
Result<bool> has_pixels(HeaderReader& reader, uint64_t at) {
  uint8_t last = 0;
  Result<size_t> got = reader.read_at(reader.size() - 1, {&last, 1});
  if (!got) return tl::make_unexpected(got.error());
  if (last == kTrailer && at < reader.size()) return true;
  return skip_blocks(reader, at);
}

// A small frame may lie on a larger canvas, but not a few bytes on a vast one.
std::optional<Error> check_gif_bytes(uint64_t file_bytes, int64_t width, int64_t height,
                                     int64_t frame_pixels) {
  constexpr int64_t kFreeCanvasPixels = int64_t{4096} * 4096;
  int64_t canvas = width * height;
  auto needed = uint64_t(canvas > kFreeCanvasPixels ? canvas : frame_pixels);
  return check_capacity(ImageFormat::Gif, width, height, {needed, file_bytes, kMostPerLzwByte});
}

// `at` is that of the frame's mark.
Result<ImageHeader> read_frame(HeaderReader& reader, uint64_t at, int64_t width, int64_t height) {
  Result<std::span<const uint8_t>> frame = reader.bytes(at, 10);
  if (!frame) return tl::make_unexpected(frame.error());
  if (frame->size() < 10) return cut_gif("header");
  auto number = [&](size_t i) { return int64_t(little_endian(frame->subspan(i, 2))); };
  if (number(5) == 0 || number(7) == 0) return damaged("damaged GIF: an empty frame");
  // A frame that leaves its canvas makes it larger, as in Pillow.
  width = std::max(width, number(1) + number(5));
  height = std::max(height, number(3) + number(7));
  if (auto refused = check_extents(width, height)) return tl::make_unexpected(*refused);
  if (auto refused = check_gif_bytes(reader.size(), width, height, number(5) * number(7))) {
    return tl::make_unexpected(*refused);
  }
  // Behind the palette stands the size of the first code.
  Result<bool> complete = has_pixels(reader, at + 10 + palette_bytes((*frame)[9]) + 1);
  if (!complete) return tl::make_unexpected(complete.error());
  if (!*complete) return cut_gif("first frame");
  return ImageHeader{ImageFormat::Gif, int32_t(width), int32_t(height)};
}

}  // namespace

Result<ImageHeader> read_gif_header(HeaderReader& reader) {
  Result<std::span<const uint8_t>> head = reader.bytes(0, 13);
  if (!head) return tl::make_unexpected(head.error());
  if (head->size() < 13) return cut_gif("header");
  int64_t width = little_endian(head->subspan(6, 2)), height = little_endian(head->subspan(8, 2));
  // An empty canvas is as large as its frame.
  if (width > 0 && height > 0) {
    if (auto refused = check_extents(width, height)) return tl::make_unexpected(*refused);
  }
  uint64_t at = 13 + palette_bytes((*head)[10]);
  for (;;) {
    Result<std::span<const uint8_t>> mark = reader.bytes(at, 1);
    if (!mark) return tl::make_unexpected(mark.error());
    if (mark->empty()) return cut_gif("header");
    switch ((*mark)[0]) {
      case kFrame:
        return read_frame(reader, at, width, height);
      case kExtension:
        at += 2;
        if (Result<bool> whole = skip_blocks(reader, at); !whole) {
          return tl::make_unexpected(whole.error());
        } else if (!*whole) {
          return cut_gif("header");
        }
        break;
      case kTrailer:
        return damaged("damaged GIF: it holds no picture");
      default:
        return damaged("damaged GIF: an unknown block");
    }
  }
}

}  // namespace pounce
