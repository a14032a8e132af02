// PNG through libspng, with every checksum verified and the file read to its end chunk.
#include <memory>
#include <string_view>
#include <vector>

#include <spng.h>

#include "data/codecs.h"
#include "data/header_reader.h"

namespace pounce {
namespace {

// What text, profiles and other chunks may take; pictures are limited by their pixels.
constexpr size_t kMaxChunkBytes = size_t{64} << 20;

struct FreeContext {
  void operator()(spng_ctx* context) const { spng_ctx_free(context); }
};
using Context = std::unique_ptr<spng_ctx, FreeContext>;

tl::unexpected<Error> png_error(int status) {
  if (status == SPNG_EMEM) {
    return tl::unexpected<Error>(Error(ErrorKind::OutOfMemory, spng_strerror(status)));
  }
  return damaged(fmt::format("damaged PNG: {}", spng_strerror(status)));
}

// v/257 rounded: the nearest 8-bit level, with 0 and 65535 at the ends.
uint8_t to_8_bits(uint32_t value) {
  return uint8_t((value + 128) / 257);
}

// The columns that a pass of an interlaced picture fills. Source: PNG specification, Adam7.
struct Columns {
  size_t first = 0, step = 1;
};

Columns columns_of(int pass, bool is_interlaced) {
  constexpr Columns kPasses[] = {{0, 8}, {4, 8}, {0, 4}, {2, 4}, {0, 2}, {1, 2}, {0, 1}};
  return is_interlaced ? kPasses[pass] : Columns{};
}

void scale_row(const uint16_t* samples, size_t channels, Columns columns, std::span<uint8_t> rgb) {
  bool is_grey = channels < 3;
  for (size_t x = columns.first; 3 * x < rgb.size(); x += columns.step) {
    const uint16_t* pixel = samples + x * channels;
    for (size_t c = 0; c < 3; ++c) rgb[3 * x + c] = to_8_bits(pixel[is_grey ? 0 : c]);
  }
}

int channels_of(uint8_t color_type) {
  switch (color_type) {
    case SPNG_COLOR_TYPE_GRAYSCALE:
      return 1;
    case SPNG_COLOR_TYPE_GRAYSCALE_ALPHA:
      return 2;
    case SPNG_COLOR_TYPE_TRUECOLOR:
      return 3;
    default:
      return 4;
  }
}

// 16 bits, row by row: the samples of the whole picture may be far larger than it.
int decode_deep_pixels(spng_ctx* context, const spng_ihdr& header, Image& image) {
  auto channels = size_t(channels_of(header.color_type));
  size_t row_bytes = size_t(image.width) * 3;
  std::vector<uint16_t> samples(size_t(image.width) * channels);
  int status = spng_decode_image(context, nullptr, 0, SPNG_FMT_PNG, SPNG_DECODE_PROGRESSIVE);
  while (status == 0) {
    spng_row_info row{};
    status = spng_get_row_info(context, &row);
    if (status != 0) break;  // at the end where the last passes are empty
    status = spng_decode_row(context, samples.data(), samples.size() * sizeof(uint16_t));
    if (status != 0 && status != SPNG_EOI) return status;
    Columns columns = columns_of(row.pass, header.interlace_method != 0);
    std::span<uint8_t> rgb(image.rgb.data() + size_t(row.row_num) * row_bytes, row_bytes);
    scale_row(samples.data(), channels, columns, rgb);
  }
  return status == SPNG_EOI ? 0 : status;
}

int decode_pixels(spng_ctx* context, const spng_ihdr& header, Image& image) {
  if (header.bit_depth == 16) return decode_deep_pixels(context, header, image);
  return spng_decode_image(context, image.rgb.data(), image.rgb.size(), SPNG_FMT_RGB8, 0);
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// ImageMagick's text form of the block: a name, a length and the bytes in hexadecimal, each on
// lines of its own. The orientation stands in the first directory, so a part is enough.
std::vector<uint8_t> parse_raw_profile(std::string_view text) {
  constexpr size_t kEnough = 64 * 1024;
  std::vector<uint8_t> block;
  for (int i = 0; i < 3; ++i) {
    size_t end = text.find('\n');
    if (end == text.npos) return block;
    text.remove_prefix(end + 1);
  }
  int high = -1;
  for (char c : text) {
    int digit = hex_digit(c);
    if (digit < 0) continue;
    if (high >= 0) block.push_back(uint8_t(high << 4 | digit));
    high = high >= 0 ? -1 : digit;
    if (block.size() == kEnough) break;
  }
  return block;
}

// The chunk eXIf, or what programs wrote before there was one.
int orientation_of(spng_ctx* context) {
  spng_exif exif{};
  if (spng_get_exif(context, &exif) == 0) {
    return exif_orientation(
        without_exif_prefix({reinterpret_cast<const uint8_t*>(exif.data), exif.length}));
  }
  uint32_t count = 0;
  if (spng_get_text(context, nullptr, &count) != 0) return 1;
  std::vector<spng_text> texts(count);
  if (spng_get_text(context, texts.data(), &count) != 0) return 1;
  for (const spng_text& text : texts) {
    if (std::string_view(text.keyword) != "Raw profile type exif") continue;
    return exif_orientation(without_exif_prefix(parse_raw_profile({text.text, text.length})));
  }
  return 1;
}

}  // namespace

Result<void> decode_png(std::span<const uint8_t> bytes, Image& image, const DecodeRule& rule) {
  // Extents, cuts and bombs are judged before spng sees the file.
  HeaderReader reader(bytes);
  Result<ImageHeader> judged = read_png_header(reader);
  if (!judged) return tl::make_unexpected(judged.error());
  Context context(spng_ctx_new(0));
  if (!context) return png_error(SPNG_EMEM);
  spng_set_crc_action(context.get(), SPNG_CRC_ERROR, SPNG_CRC_ERROR);
  spng_set_chunk_limits(context.get(), kMaxChunkBytes, kMaxChunkBytes);
  spng_set_png_buffer(context.get(), bytes.data(), bytes.size());
  spng_ihdr header{};
  if (int status = spng_get_ihdr(context.get(), &header)) return png_error(status);
  image.width = int(header.width);
  image.height = int(header.height);
  image.rgb.resize(size_t(image.width) * size_t(image.height) * 3);
  if (int status = decode_pixels(context.get(), header, image)) return png_error(status);
  if (int status = spng_decode_chunks(context.get())) return png_error(status);
  if (rule.exif) apply_orientation(image, orientation_of(context.get()));
  return {};
}

}  // namespace pounce
