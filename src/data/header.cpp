#include "data/header.h"

#include <algorithm>
#include <cstring>

#include "data/codecs.h"

namespace pounce {
namespace {

constexpr size_t kTailBytes = 64 * 1024;

// Small reads at rising offsets, served from one buffered piece of the file.
class HeaderReader {
 public:
  explicit HeaderReader(InputFile file) : file_(std::move(file)) {}

  uint64_t size() const { return file_.size(); }
  const InputFile& file() const { return file_; }

  // The `n` bytes at `offset`, fewer at the end of the file; valid until the next call.
  Result<std::span<const uint8_t>> bytes(uint64_t offset, size_t n) {
    bool is_buffered = offset >= start_ && offset + n <= start_ + buffer_.size();
    if (!is_buffered) {
      buffer_.resize(std::max<size_t>(n, 4096));
      Result<size_t> got = file_.read_at(offset, buffer_);
      if (!got) return tl::make_unexpected(got.error());
      buffer_.resize(*got);
      start_ = offset;
    }
    size_t at = size_t(offset - start_);
    return std::span<const uint8_t>(buffer_).subspan(at, std::min(n, buffer_.size() - at));
  }

 private:
  InputFile file_;
  std::vector<uint8_t> buffer_;
  uint64_t start_ = 0;
};

uint32_t big_endian(std::span<const uint8_t> bytes) {
  uint32_t value = 0;
  for (uint8_t byte : bytes) value = value << 8 | byte;
  return value;
}

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
Result<bool> find_backwards(const InputFile& file, uint64_t floor, uint8_t second) {
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

Result<ImageHeader> jpeg_header(HeaderReader& reader) {
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
  Result<bool> has_end = find_backwards(reader.file(), frame->scan_offset, kEndOfImage);
  if (!has_end) return tl::make_unexpected(has_end.error());
  if (!*has_end) return damaged("cut JPEG: no end marker");
  return ImageHeader{ImageFormat::Jpeg, frame->width, frame->height};
}

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

Result<ImageHeader> png_header(HeaderReader& reader) {
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
  std::vector<uint8_t> tail(size_t(std::min<uint64_t>(kTailBytes, reader.size())));
  Result<size_t> got = reader.file().read_at(reader.size() - tail.size(), tail);
  if (!got) return tl::make_unexpected(got.error());
  constexpr uint8_t kEnd[] = {0, 0, 0, 0, 'I', 'E', 'N', 'D'};
  auto end = std::search(tail.begin(), tail.end(), std::begin(kEnd), std::end(kEnd));
  if (end == tail.end()) return damaged("cut PNG: no end chunk");
  return ImageHeader{ImageFormat::Png, int32_t(width), int32_t(height)};
}

}  // namespace

Result<ImageHeader> read_image_header(const std::string& path, ImageFormat* unsupported_format) {
  Result<InputFile> file = InputFile::open(path);
  if (!file) return tl::make_unexpected(file.error());
  if (auto refused = check_file_size(file->size())) return tl::make_unexpected(*refused);
  HeaderReader reader(std::move(*file));
  Result<std::span<const uint8_t>> head = reader.bytes(0, 32);
  if (!head) return tl::make_unexpected(head.error());
  if (head->empty()) return damaged("the file is empty");
  ImageFormat format = sniff_format(*head);
  switch (format) {
    case ImageFormat::Jpeg:
      return jpeg_header(reader);
    case ImageFormat::Png:
      return png_header(reader);
    case ImageFormat::Unknown:
      return damaged("the content is not an image");
    default:
      break;
  }
  if (unsupported_format) *unsupported_format = format;
  return unsupported(fmt::format("{} images cannot be decoded", format_name(format)));
}

}  // namespace pounce
