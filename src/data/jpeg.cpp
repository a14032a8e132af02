// A whole JPEG to an Image.
#include <cstring>

#include "data/codecs.h"
#include "data/jpeg_decoder.h"

namespace pounce {

Result<void> decode_jpeg(std::span<const uint8_t> bytes, Image& image, const DecodeRule& rule) {
  JpegDecoder decoder;
  if (Result<void> opened = decoder.open(bytes); !opened) return opened;
  if (auto refused = check_extents(decoder.width(), decoder.height())) {
    return tl::make_unexpected(*refused);
  }
  image.resize(decoder.width(), decoder.height());
  Result<void> started = decoder.start(1, {0, 0, image.width, image.height}, JpegReach::WholeFile);
  if (!started) return started;
  size_t row_bytes = size_t(image.width) * 3;
  uint8_t* out = image.rgb.data();
  for (;;) {
    Result<JpegDecoder::Rows> rows = decoder.next_rows();
    if (!rows) return tl::make_unexpected(rows.error());
    if (rows->count == 0) break;
    for (int i = 0; i < rows->count; ++i, out += row_bytes) {
      std::memcpy(out, rows->first + size_t(i) * rows->stride, row_bytes);
    }
  }
  if (rule.exif) apply_orientation(image, decoder.orientation());
  return {};
}

}  // namespace pounce
