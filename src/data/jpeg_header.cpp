// What a JPEG says before its first scan, and whether its end marker is there.
#include <algorithm>

#include "data/codecs.h"
#include "data/header_reader.h"

namespace pounce {
namespace {

bool is_frame_header(uint8_t marker) {
  bool is_table = marker == 0xC4 || marker == 0xC8 || marker == 0xCC;
  return marker >= 0xC0 && marker <= 0xCF && !is_table;
}

bool has_no_length(uint8_t marker) {
  return marker == 0x01 || (marker >= 0xD0 && marker <= 0xD8);
}

struct JpegFrame {
  uint8_t marker = 0, precision = 0, components = 0;
  int32_t width = 0, height = 0;
  uint64_t scan_offset = 0;  // of the first SOS
};

Result<JpegFrame> cut_in_header() {
  return damaged("cut JPEG: the file ends in its header");
}

// Walks the segments up to the first scan. Bytes between segments are skipped, as libjpeg does.
Result<JpegFrame> walk_jpeg(HeaderReader& reader) {
  JpegFrame frame;
  uint64_t at = 2;
  for (;;) {
    Result<std::span<const uint8_t>> head = reader.bytes(at, 4);
    if (!head) return tl::make_unexpected(head.error());
    if (head->size() < 4) return cut_in_header();
    uint8_t marker = (*head)[1];
    bool is_marker = (*head)[0] == 0xFF && marker != 0x00 && marker != 0xFF;
    if (!is_marker || has_no_length(marker)) {
      at += is_marker ? 2 : 1;
      continue;
    }
    if (marker == 0xD9) return damaged("damaged JPEG: it ends before any picture");
    uint32_t length = big_endian(head->subspan(2, 2));
    if (length < 2) return damaged("damaged JPEG: a segment of impossible length");
    if (is_frame_header(marker)) {
      Result<std::span<const uint8_t>> body = reader.bytes(at + 4, 6);
      if (!body) return tl::make_unexpected(body.error());
      if (body->size() < 6) return cut_in_header();
      frame.marker = marker;
      frame.precision = (*body)[0];
      frame.height = int32_t(big_endian(body->subspan(1, 2)));
      frame.width = int32_t(big_endian(body->subspan(3, 2)));
      frame.components = (*body)[5];
    }
    if (marker == 0xDA) {
      frame.scan_offset = at;
      if (frame.marker == 0) return damaged("damaged JPEG: a scan without a frame header");
      return frame;
    }
    at += 2 + uint64_t(length);
  }
}

// Searches `marker` (two bytes) in the file backwards from its end down to `floor`.
Result<bool> find_backwards(const HeaderReader& file, uint64_t floor, uint8_t second) {
  std::vector<uint8_t> piece;
  uint64_t end = file.size();
  while (end > floor + 1) {
    uint64_t start = end - floor > kTailBytes ? end - kTailBytes : floor;
    piece.resize(size_t(end - start));
    Result<size_t> got = file.read_at(start, piece);
    if (!got) return tl::make_unexpected(got.error());
    for (size_t i = *got; i-- > 1;) {
      if (piece[i] == second && piece[i - 1] == 0xFF) return true;
    }
    if (start == floor) break;
    end = start + 1;  // the marker may lie across two pieces
  }
  return false;
}

}  // namespace

Result<ImageHeader> read_jpeg_header(HeaderReader& reader) {
  Result<JpegFrame> frame = walk_jpeg(reader);
  if (!frame) return tl::make_unexpected(frame.error());
  if (frame->precision != 8) {
    return unsupported(fmt::format("JPEG with {} bits a channel", frame->precision));
  }
  bool is_lossless_or_hierarchical = frame->marker == 0xC3 || (frame->marker & 0x0F) >= 5;
  bool is_arithmetic = frame->marker == 0xC9 || frame->marker == 0xCA;
  if (is_lossless_or_hierarchical && !is_arithmetic) {
    return unsupported("lossless or hierarchical JPEG");
  }
  if (auto refused = check_extents(frame->width, frame->height)) {
    return tl::make_unexpected(*refused);
  }
  constexpr uint8_t kEndOfImage = 0xD9;
  Result<bool> has_end = find_backwards(reader, frame->scan_offset, kEndOfImage);
  if (!has_end) return tl::make_unexpected(has_end.error());
  if (!*has_end) return damaged("cut JPEG: no end marker");
  return ImageHeader{ImageFormat::Jpeg, frame->width, frame->height};
}

}  // namespace pounce
