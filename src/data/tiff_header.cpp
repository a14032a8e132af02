// The first directory of a TIFF or BigTIFF: how large the picture is, and whether its pixels begin
// inside the file.
#include <algorithm>

#include "data/codecs.h"
#include "data/header_reader.h"

namespace pounce {
namespace {

constexpr uint16_t kWidth = 256, kHeight = 257, kStripOffsets = 273, kTileOffsets = 324;
// Those without which the pixels are not what they were: bits, strips, palette, tiles, sample
// kinds.
constexpr uint16_t kNeeded[] = {258, 273, 279, 320, 324, 325, 338, 339};

struct Entry {
  uint16_t type = 0;
  uint64_t count = 0;
  uint64_t value_at = 0;  // in the file
};

// Numbers of the file's byte order. A read beyond the end is remembered, and gives 0.
class TiffDirectory {
 public:
  explicit TiffDirectory(HeaderReader& reader) : reader_(reader) {}

  // The offset of the first directory's entries and their number.
  Result<void> open() {
    Result<std::span<const uint8_t>> mark = reader_.bytes(0, 4);
    if (!mark) return tl::make_unexpected(mark.error());
    if (mark->size() < 4) return cut();
    is_big_endian_ = (*mark)[0] == 'M';
    is_big_ = (*mark)[is_big_endian_ ? 3 : 2] == 43;
    uint64_t at = is_big_ ? number(8, 8) : number(4, 4);
    entries_ = number(at, is_big_ ? 8 : 2);
    first_ = at + (is_big_ ? 8 : 2);
    constexpr uint64_t kMostEntries = 65535;
    if (is_beyond_end_) return cut();
    if (entries_ == 0 || entries_ > kMostEntries) return damaged("damaged TIFF: no directory");
    return problem();
  }

  Entry find(uint16_t tag) {
    for (uint64_t i = 0; i < entries_ && !is_beyond_end_ && !error_; ++i) {
      uint64_t at = first_ + i * (is_big_ ? 20 : 12);
      if (number(at, 2) != tag) continue;
      Entry entry{uint16_t(number(at + 2, 2)), number(at + 4, is_big_ ? 8 : 4), 0};
      uint64_t inside = is_big_ ? 8 : 4;
      entry.value_at = at + 4 + inside;
      bool is_outside = entry.count > inside / size_of(entry.type);
      if (is_outside) entry.value_at = number(entry.value_at, size_t(inside));
      return entry;
    }
    return {};
  }

  uint64_t value(const Entry& entry, uint64_t index) {
    size_t size = size_of(entry.type);
    return number(entry.value_at + index * size, size);
  }

  // Whether the file reaches to the entry's last value.
  bool is_whole(const Entry& entry) const {
    uint64_t size = reader_.size();
    return entry.value_at <= size && entry.count <= (size - entry.value_at) / size_of(entry.type);
  }

  // What reading met so far.
  Result<void> problem() const {
    if (error_) return tl::make_unexpected(*error_);
    return is_beyond_end_ ? cut() : Result<void>();
  }

  static tl::unexpected<Error> cut() {
    return damaged("cut TIFF: its directory is not in the file");
  }

 private:
  // Of the types that sizes and offsets have: SHORT, LONG, LONG8.
  static size_t size_of(uint16_t type) { return type == 3 ? 2 : type == 16 ? 8 : 4; }

  uint64_t number(uint64_t at, size_t size) {
    Result<std::span<const uint8_t>> bytes = reader_.bytes(at, size);
    if (!bytes) error_ = bytes.error();
    if (!bytes || bytes->size() < size) {
      is_beyond_end_ = true;
      return 0;
    }
    uint64_t value = 0;
    for (size_t i = 0; i < size; ++i)
      value = value << 8 | (*bytes)[is_big_endian_ ? i : size - 1 - i];
    return value;
  }

  HeaderReader& reader_;
  std::optional<Error> error_;
  bool is_big_endian_ = false, is_big_ = false, is_beyond_end_ = false;
  uint64_t entries_ = 0, first_ = 0;
};

// The most bytes of pixels that a byte of the file gives; 0 where the compression sets no bound.
uint64_t most_per_byte(uint64_t compression) {
  switch (compression) {
    case 1:  // none
      return 1;
    case 5:
      return kMostPerLzwByte;
    case 8:
    case 32946:
      return kMostPerDeflateByte;
    case 32773:  // PackBits: 128 bytes in two
      return 64;
    default:
      return 0;
  }
}

// What speaks against a file that holds so little. Pieces of a picture may share their bytes.
std::optional<Error> check_tiff_bytes(TiffDirectory& directory, uint64_t file_bytes, int64_t width,
                                      int64_t height) {
  auto number = [&](uint16_t tag, uint64_t otherwise) {
    Entry entry = directory.find(tag);
    return entry.count > 0 ? directory.value(entry, 0) : otherwise;
  };
  constexpr uint16_t kBits = 258, kCompression = 259, kPhotometric = 262, kSamples = 277;
  constexpr uint16_t kStripBytes = 279, kTileBytes = 325, kYCbCr = 6;
  uint64_t most = most_per_byte(number(kCompression, 1));
  if (most == 0) return std::nullopt;
  Entry counts = directory.find(kStripBytes);
  if (counts.count == 0) counts = directory.find(kTileBytes);
  uint64_t packed = 0;
  for (uint64_t i = 0; i < counts.count && directory.is_whole(counts); ++i) {
    packed += std::min(directory.value(counts, i), file_bytes);
  }
  // Chroma may be thinned out.
  uint64_t samples = number(kPhotometric, 0) == kYCbCr ? 1 : number(kSamples, 1);
  constexpr uint64_t kMostBits = 64, kMostSamples = 65535;
  uint64_t bits = std::min(number(kBits, 1), kMostBits) * std::min(samples, kMostSamples);
  uint64_t needed = uint64_t(width) * uint64_t(height) / 8 * bits;
  if (needed / most <= packed) return std::nullopt;
  return check_capacity(ImageFormat::Tiff, width, height, {needed, file_bytes, most});
}

}  // namespace

// Source: TIFF 6.0; "BigTIFF design".
Result<ImageHeader> read_tiff_header(HeaderReader& reader) {
  TiffDirectory directory(reader);
  if (Result<void> done = directory.open(); !done) return tl::make_unexpected(done.error());
  Entry width = directory.find(kWidth), height = directory.find(kHeight);
  if (width.count == 0 || height.count == 0) {
    if (Result<void> read = directory.problem(); !read) return tl::make_unexpected(read.error());
    return damaged("damaged TIFF: its directory does not say how large it is");
  }
  auto columns = int64_t(directory.value(width, 0)), rows = int64_t(directory.value(height, 0));
  Entry pieces = directory.find(kStripOffsets);
  if (pieces.count == 0) pieces = directory.find(kTileOffsets);
  uint64_t first = pieces.count > 0 ? directory.value(pieces, 0) : 0;
  uint64_t last = pieces.count > 0 ? directory.value(pieces, pieces.count - 1) : 0;
  bool is_whole = true;
  for (uint16_t tag : kNeeded) is_whole = is_whole && directory.is_whole(directory.find(tag));
  if (Result<void> read = directory.problem(); !read) return tl::make_unexpected(read.error());
  if (!is_whole) return TiffDirectory::cut();
  if (auto refused = check_extents(columns, rows)) return tl::make_unexpected(*refused);
  if (std::max(first, last) >= reader.size()) {
    return damaged("cut TIFF: the file is shorter than its pixels");
  }
  if (auto refused = check_tiff_bytes(directory, reader.size(), columns, rows)) {
    return tl::make_unexpected(*refused);
  }
  return ImageHeader{ImageFormat::Tiff, int32_t(columns), int32_t(rows)};
}

}  // namespace pounce
