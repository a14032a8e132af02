// The header of an image file: format, extents, and whether the file ends as it must. Reads a few
// kilobytes, so that a whole folder can be judged before training begins.
#pragma once

#include "base/file.h"
#include "data/decode.h"

namespace pounce {

struct ImageHeader {
  ImageFormat format = ImageFormat::Unknown;
  int32_t width = 0, height = 0;  // as stored, before the EXIF orientation
};

// Kinds: Io; BadData for empty, foreign or cut files; Unsupported for a format or variant that
// cannot be decoded, whose format `unsupported_format` (when given) then receives.
Result<ImageHeader> read_image_header(const std::string& path,
                                      ImageFormat* unsupported_format = nullptr);
// The same of a file's whole content.
Result<ImageHeader> read_image_header(std::span<const uint8_t> content,
                                      ImageFormat* unsupported_format = nullptr);

}  // namespace pounce
