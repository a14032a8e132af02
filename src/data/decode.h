// Bytes of an image file to 8-bit RGB, by content and never by extension.
// Pixel rules: EXIF orientation applied (or not: DecodeRule); grey becomes three equal channels;
// CMYK and YCCK convert as Pillow does; 16-bit samples scale by rounding v/257; transparency is
// dropped and colours stay as stored, as torchvision's ImageFolder (PIL convert("RGB")) does.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace pounce {

struct Image {
  int width = 0, height = 0;
  std::vector<uint8_t> rgb;  // [height, width, 3]

  // Keeps the memory there is; the content is unspecified.
  void resize(int new_width, int new_height) {
    width = new_width;
    height = new_height;
    rgb.resize(size_t(width) * size_t(height) * 3);
  }
};

// Pixels that someone else owns.
struct PixelView {
  int width = 0, height = 0;
  const uint8_t* rgb = nullptr;  // [height, width, 3]

  PixelView() = default;
  PixelView(int w, int h, const uint8_t* pixels) : width(w), height(h), rgb(pixels) {}
  PixelView(const Image& image)  // NOLINT: an Image is pixels, too
      : PixelView(image.width, image.height, image.rgb.data()) {}
};

enum class ImageFormat {
  Unknown,
  Jpeg,
  Png,
  WebP,
  Gif,
  Bmp,
  Tiff,
  Avif,
  Heic,
  JpegXl,
  Jpeg2000,
  Pnm
};

// By the first bytes; 32 suffice.
ImageFormat sniff_format(std::span<const uint8_t> head);
// "JPEG", "WebP", ...
std::string_view format_name(ImageFormat format);
bool can_decode(ImageFormat format);
// jpg, jpeg, png, webp, ...: `extension` in lower case without the dot.
bool is_image_extension(std::string_view extension);

// More pixels than this are refused as a decompression bomb; the limit of Pillow.
constexpr int64_t kMaxPixels = 178'956'970;

// Longer files are not read: no picture within kMaxPixels needs as many bytes, and the search for
// the end of a sparse file would take hours.
constexpr uint64_t kMaxFileBytes = uint64_t(2) << 30;
std::optional<Error> check_file_size(uint64_t bytes);

struct DecodeRule {
  bool exif = true;  // false: the picture as it is stored, whatever its EXIF orientation
};

// Error kinds: BadData for a damaged file (any libjpeg warning, a wrong PNG checksum, a missing
// end), Unsupported for a format or variant that cannot be decoded, named in the message.
Result<Image> decode_image(std::span<const uint8_t> bytes, const DecodeRule& rule = {});
// The same into an existing image, whose memory is reused; its content is unspecified on error.
Result<void> decode_image(std::span<const uint8_t> bytes, Image& image,
                          const DecodeRule& rule = {});

}  // namespace pounce
