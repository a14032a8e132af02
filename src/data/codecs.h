// The decoders behind decode_image, one file a format, and what they share. Internal to src/data.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "data/decode.h"

namespace pounce {

Result<void> decode_jpeg(std::span<const uint8_t> bytes, Image& image, const DecodeRule& rule);
Result<void> decode_png(std::span<const uint8_t> bytes, Image& image, const DecodeRule& rule);
Result<void> decode_webp(std::span<const uint8_t> bytes, Image& image, const DecodeRule& rule);
Result<void> decode_gif(std::span<const uint8_t> bytes, Image& image, const DecodeRule& rule);
Result<void> decode_bmp(std::span<const uint8_t> bytes, Image& image, const DecodeRule& rule);
// Through libraries that are opened at the first use and may be missing: see the *_problem below.
Result<void> decode_tiff(std::span<const uint8_t> bytes, Image& image, const DecodeRule& rule);
Result<void> decode_avif(std::span<const uint8_t> bytes, Image& image, const DecodeRule& rule);
Result<void> decode_heic(std::span<const uint8_t> bytes, Image& image, const DecodeRule& rule);

// Why no picture of the format can be decoded here: its library is missing or too old, or Pounce
// was built without it. nullopt when they can be.
std::optional<Error> tiff_problem();
std::optional<Error> avif_problem();
std::optional<Error> heic_problem();
// The same for any format.
std::optional<Error> format_problem(ImageFormat format);

// What the above say: `soname` as "libtiff.so.6".
Error missing_library(std::string_view format, std::string_view soname);
Error old_library(std::string_view format, std::string_view soname);
Error built_without(std::string_view format, std::string_view library);

// The orientation, 1..8, of a TIFF structure as EXIF holds it (from "II" or "MM" on); 1 when it is
// absent or malformed. Source: Exif 2.32, tag 0x0112.
int exif_orientation(std::span<const uint8_t> tiff);

// Without the "Exif\0\0" that some writers put before the TIFF structure.
std::span<const uint8_t> without_exif_prefix(std::span<const uint8_t> block);

// Turns and mirrors the stored picture so that it stands upright. 1 does nothing.
void apply_orientation(Image& image, int orientation);

// What is wrong with these extents; nullopt when they can be decoded.
std::optional<Error> check_extents(int64_t width, int64_t height);

// Refuses what a file of `file_bytes` cannot hold, however well it is packed: nullopt when
// `needed_bytes` of unpacked pixels may come from it, each of its bytes giving `most_per_byte`.
struct PackedPixels {
  uint64_t needed_bytes = 0, file_bytes = 0;
  uint64_t most_per_byte = 1;
};
std::optional<Error> check_capacity(ImageFormat format, int64_t width, int64_t height,
                                    const PackedPixels& pixels);
// "damaged FORMAT: N bytes cannot hold WxH pixels ..."
Error cannot_hold(ImageFormat format, int64_t width, int64_t height, uint64_t file_bytes);

// The most bytes that one byte gives. Deflate: 258 bytes in two codes of one bit (RFC 1951). LZW: a
// code of 12 bits stands for 4096 bytes at most.
constexpr uint64_t kMostPerDeflateByte = 1032, kMostPerLzwByte = 2731;

inline tl::unexpected<Error> damaged(std::string reason) {
  return tl::unexpected<Error>(Error(ErrorKind::BadData, std::move(reason)));
}

inline tl::unexpected<Error> unsupported(std::string reason) {
  return tl::unexpected<Error>(Error(ErrorKind::Unsupported, std::move(reason)));
}

}  // namespace pounce
