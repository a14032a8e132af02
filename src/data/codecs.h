// The decoders behind decode_image, one file a format, and what they share. Internal to src/data.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "data/decode.h"

namespace pounce {

Result<void> decode_jpeg(std::span<const uint8_t> bytes, Image& image, const DecodeRule& rule);
Result<void> decode_png(std::span<const uint8_t> bytes, Image& image, const DecodeRule& rule);
Result<void> decode_webp(std::span<const uint8_t> bytes, Image& image, const DecodeRule& rule);
Result<void> decode_gif(std::span<const uint8_t> bytes, Image& image, const DecodeRule& rule);
Result<void> decode_bmp(std::span<const uint8_t> bytes, Image& image, const DecodeRule& rule);

// The orientation, 1..8, of a TIFF structure as EXIF holds it (from "II" or "MM" on); 1 when it is
// absent or malformed. Source: Exif 2.32, tag 0x0112.
int exif_orientation(std::span<const uint8_t> tiff);

// Without the "Exif\0\0" that some writers put before the TIFF structure.
std::span<const uint8_t> without_exif_prefix(std::span<const uint8_t> block);

// Turns and mirrors the stored picture so that it stands upright. 1 does nothing.
void apply_orientation(Image& image, int orientation);

// What is wrong with these extents; nullopt when they can be decoded.
std::optional<Error> check_extents(int64_t width, int64_t height);

inline tl::unexpected<Error> damaged(std::string reason) {
  return tl::unexpected<Error>(Error(ErrorKind::BadData, std::move(reason)));
}

inline tl::unexpected<Error> unsupported(std::string reason) {
  return tl::unexpected<Error>(Error(ErrorKind::Unsupported, std::move(reason)));
}

}  // namespace pounce
