#include "data/fixtures.h"

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
// libjpeg's header needs size_t and FILE first.
#include <jpeglib.h>
#include <spng.h>

namespace pounce::test {
namespace {

struct Encoder {
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  unsigned char* buffer = nullptr;
  unsigned long size = 0;

  Encoder() {
    info.err = jpeg_std_error(&errors);
    jpeg_create_compress(&info);
    jpeg_mem_dest(&info, &buffer, &size);
  }
  ~Encoder() {
    jpeg_destroy_compress(&info);
    std::free(buffer);
  }

  void start(int width, int height, J_COLOR_SPACE space, int channels, int quality) {
    info.image_width = JDIMENSION(width);
    info.image_height = JDIMENSION(height);
    info.in_color_space = space;
    info.input_components = channels;
    jpeg_set_defaults(&info);
    jpeg_set_quality(&info, quality, TRUE);
  }

  Bytes write(const uint8_t* pixels) {
    size_t stride = size_t(info.image_width) * size_t(info.input_components);
    while (info.next_scanline < info.image_height) {
      auto* row = const_cast<JSAMPROW>(pixels + info.next_scanline * stride);
      jpeg_write_scanlines(&info, &row, 1);
    }
    jpeg_finish_compress(&info);
    return Bytes(buffer, buffer + size);
  }
};

Bytes exif_segment(int orientation) {
  return {'E', 'x', 'i', 'f', 0, 0, 'I', 'I', 42, 0, 8, 0, 0, 0, 1, 0,
          // tag 0x0112, type short, one value
          0x12, 0x01, 3, 0, 1, 0, 0, 0, uint8_t(orientation), 0, 0, 0, 0, 0, 0, 0};
}

}  // namespace

Image pattern_image(int width, int height) {
  Image image{width, height, {}};
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < 3; ++c) {
        image.rgb.push_back(uint8_t(x * 7 + y * 13 + c * 50 + x * y % 11 * 5));
      }
    }
  }
  return image;
}

Image solid_image(int width, int height, std::vector<uint8_t> rgb) {
  Image image{width, height, {}};
  for (int i = 0; i < width * height; ++i) {
    image.rgb.insert(image.rgb.end(), rgb.begin(), rgb.end());
  }
  return image;
}

Bytes encode_jpeg(const Image& image, const JpegOptions& options) {
  Encoder encoder;
  encoder.start(image.width, image.height, JCS_RGB, 3, options.quality);
  if (!options.subsampled) encoder.info.comp_info[0].h_samp_factor = 1;
  if (!options.subsampled) encoder.info.comp_info[0].v_samp_factor = 1;
  if (options.grey) jpeg_set_colorspace(&encoder.info, JCS_GRAYSCALE);
  if (options.as_rgb) jpeg_set_colorspace(&encoder.info, JCS_RGB);
  if (options.horizontal > 0) encoder.info.comp_info[0].h_samp_factor = options.horizontal;
  if (options.vertical > 0) encoder.info.comp_info[0].v_samp_factor = options.vertical;
  encoder.info.restart_interval = unsigned(options.restart_interval);
  encoder.info.arith_code = options.arithmetic ? TRUE : FALSE;
  if (options.progressive) jpeg_simple_progression(&encoder.info);
  jpeg_start_compress(&encoder.info, TRUE);
  if (options.orientation != 0) {
    Bytes exif = exif_segment(options.orientation);
    jpeg_write_marker(&encoder.info, JPEG_APP0 + 1, exif.data(), unsigned(exif.size()));
  }
  return encoder.write(image.rgb.data());
}

Bytes encode_cmyk_jpeg(int size, const std::vector<uint8_t>& cmyk) {
  Encoder encoder;
  encoder.start(size, size, JCS_CMYK, 4, 100);
  jpeg_start_compress(&encoder.info, TRUE);
  Bytes pixels;
  for (int i = 0; i < size * size; ++i) pixels.insert(pixels.end(), cmyk.begin(), cmyk.end());
  return encoder.write(pixels.data());
}

Bytes encode_grey_jpeg(int size, uint8_t level) {
  Encoder encoder;
  encoder.start(size, size, JCS_GRAYSCALE, 1, 100);
  jpeg_start_compress(&encoder.info, TRUE);
  return encoder.write(Bytes(size_t(size) * size_t(size), level).data());
}

Bytes encode_png(const PngPicture& picture) {
  spng_ctx* context = spng_ctx_new(SPNG_CTX_ENCODER);
  spng_set_option(context, SPNG_ENCODE_TO_BUFFER, 1);
  spng_ihdr header{};
  header.width = picture.width;
  header.height = picture.height;
  header.color_type = picture.color_type;
  header.bit_depth = picture.bit_depth;
  header.interlace_method = picture.interlaced ? 1 : 0;
  spng_set_ihdr(context, &header);
  if (picture.color_type == SPNG_COLOR_TYPE_INDEXED) {
    spng_plte palette{};
    palette.n_entries = 2;
    palette.entries[0] = {10, 20, 30, 255};
    palette.entries[1] = {200, 100, 50, 255};
    spng_set_plte(context, &palette);
    spng_trns transparency{};
    transparency.n_type3_entries = 1;
    spng_set_trns(context, &transparency);
  }
  // RAW: 16-bit samples stand big-endian in `samples` already.
  int status = spng_encode_image(context, picture.samples.data(), picture.samples.size(),
                                 SPNG_FMT_RAW, SPNG_ENCODE_FINALIZE);
  size_t size = 0;
  void* buffer = spng_get_png_buffer(context, &size, &status);
  Bytes bytes;
  if (buffer) {
    const auto* begin = static_cast<const uint8_t*>(buffer);
    bytes.assign(begin, begin + size);
  }
  std::free(buffer);
  spng_ctx_free(context);
  if (bytes.empty()) throw std::runtime_error(spng_strerror(status));
  return bytes;
}

Bytes encode_png(const Image& image) {
  return encode_png({uint32_t(image.width), uint32_t(image.height), 2, 8, false, image.rgb});
}

uint64_t fnv(const uint8_t* bytes, size_t n) {
  uint64_t hash = 0xcbf29ce484222325;
  for (size_t i = 0; i < n; ++i) hash = (hash ^ bytes[i]) * 0x100000001b3;
  return hash;
}

}  // namespace pounce::test
