// Small reads from the start of an image file, and the readers of its header, one file a format.
// Internal to src/data.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/file.h"
#include "data/header.h"

namespace pounce {

// Small reads at chosen offsets of a file or of its content in memory, served from one buffered
// piece.
class HeaderReader {
 public:
  explicit HeaderReader(InputFile file);
  // Borrowed: `content` must outlive the reader.
  explicit HeaderReader(std::span<const uint8_t> content);

  uint64_t size() const;
  // The `n` bytes at `offset`, fewer at the end of the file; valid until the next call.
  Result<std::span<const uint8_t>> bytes(uint64_t offset, size_t n);
  // Fills `into` from `offset`, past the buffer; returns the bytes read, fewer only at the end.
  Result<size_t> read_at(uint64_t offset, std::span<uint8_t> into) const;

 private:
  std::optional<InputFile> file_;
  std::span<const uint8_t> content_;  // without file_
  std::vector<uint8_t> buffer_;
  uint64_t start_ = 0;
};

// The first byte is the most significant, or the least; at most four bytes.
uint32_t big_endian(std::span<const uint8_t> bytes);
uint32_t little_endian(std::span<const uint8_t> bytes);

// How much of a file's end is searched at once for what must stand there.
constexpr size_t kTailBytes = 64 * 1024;

// Each takes a file whose first bytes are its format's.
Result<ImageHeader> read_jpeg_header(HeaderReader& reader);
Result<ImageHeader> read_png_header(HeaderReader& reader);
Result<ImageHeader> read_webp_header(HeaderReader& reader);
Result<ImageHeader> read_gif_header(HeaderReader& reader);
Result<ImageHeader> read_bmp_header(HeaderReader& reader);
Result<ImageHeader> read_tiff_header(HeaderReader& reader);
// AVIF and HEIC: `format` is which.
Result<ImageHeader> read_heif_header(HeaderReader& reader, ImageFormat format);

}  // namespace pounce
