// What a JPEG says before its first scan, and whether its end marker is there.
#include <algorithm>

#include "data/codecs.h"
#include "data/header_reader.h"
#include "data/jpeg_limits.h"

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
  uint8_t marker = 0, precision = 0;
  JpegShape shape;
  uint64_t scan_offset = 0;  // of the first SOS
};

tl::unexpected<Error> cut_in_header() {
  return damaged("cut JPEG: the file ends in its header");
}

// `at`: of the marker. An unknown length of the component list is libjpeg's to complain about.
Result<void> read_frame_header(HeaderReader& reader, uint64_t at, JpegFrame& frame) {
  constexpr size_t kFixedBytes = 6, kComponentBytes = 3;
  constexpr size_t kMostBytes = kFixedBytes + kComponentBytes * 4;
  Result<std::span<const uint8_t>> body = reader.bytes(at + 4, kMostBytes);
  if (!body) return tl::make_unexpected(body.error());
  if (body->size() < kFixedBytes) return cut_in_header();
  frame.precision = (*body)[0];
  JpegShape& shape = frame.shape;
  shape.height = big_endian(body->subspan(1, 2));
  shape.width = big_endian(body->subspan(3, 2));
  shape.components = (*body)[5];
  bool is_progressive = (frame.marker & 0x03) == 2;
  shape.is_arithmetic = frame.marker >= 0xC9;
  shape.has_passes = is_progressive;
  for (size_t i = 0; i < shape.sampling.size(); ++i) {
    size_t place = kFixedBytes + kComponentBytes * i + 1;
    if (place >= body->size()) break;
    // libjpeg refuses a factor of 0.
    shape.sampling[i].horizontal = std::max((*body)[place] >> 4, 1);
    shape.sampling[i].vertical = std::max((*body)[place] & 0x0F, 1);
  }
  return {};
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
      frame.marker = marker;
      Result<void> done = read_frame_header(reader, at, frame);
      if (!done) return tl::make_unexpected(done.error());
    }
    if (marker == 0xDA) {
      frame.scan_offset = at;
      if (frame.marker == 0) return damaged("damaged JPEG: a scan without a frame header");
      Result<std::span<const uint8_t>> scan = reader.bytes(at + 4, 1);
      if (!scan) return tl::make_unexpected(scan.error());
      if (scan->empty()) return cut_in_header();
      if ((*scan)[0] < frame.shape.components) frame.shape.has_passes = true;
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
  if (auto refused = check_jpeg_shape(frame->shape, reader.size())) {
    return tl::make_unexpected(*refused);
  }
  constexpr uint8_t kEndOfImage = 0xD9;
  Result<bool> has_end = find_backwards(reader, frame->scan_offset, kEndOfImage);
  if (!has_end) return tl::make_unexpected(has_end.error());
  if (!*has_end) return damaged("cut JPEG: no end marker");
  return ImageHeader{ImageFormat::Jpeg, int32_t(frame->shape.width), int32_t(frame->shape.height)};
}

}  // namespace pounce
