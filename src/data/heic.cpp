// HEIC through libheif, opened at the first such file: the primary picture.
#include "data/codecs.h"

#if POUNCE_HAS_HEIF
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>

#include <libheif/heif.h>

#include "base/shared_library.h"
#include "data/header_reader.h"

namespace pounce {
namespace {

struct Library {
  SharedLibrary file;
  decltype(&heif_context_alloc) context_alloc = nullptr;
  decltype(&heif_context_free) context_free = nullptr;
  decltype(&heif_context_set_max_decoding_threads) set_threads = nullptr;
  decltype(&heif_context_set_maximum_image_size_limit) set_largest_side = nullptr;
  decltype(&heif_context_read_from_memory_without_copy) read = nullptr;
  decltype(&heif_context_get_primary_image_handle) primary = nullptr;
  decltype(&heif_image_handle_release) handle_release = nullptr;
  decltype(&heif_image_handle_get_width) handle_width = nullptr;
  decltype(&heif_image_handle_get_height) handle_height = nullptr;
  decltype(&heif_image_handle_get_luma_bits_per_pixel) handle_bits = nullptr;
  decltype(&heif_decoding_options_alloc) options_alloc = nullptr;
  decltype(&heif_decoding_options_free) options_free = nullptr;
  decltype(&heif_decode_image) decode = nullptr;
  decltype(&heif_image_release) image_release = nullptr;
  decltype(&heif_image_handle_get_ispe_width) stored_width = nullptr;
  decltype(&heif_image_handle_get_ispe_height) stored_height = nullptr;
  decltype(&heif_image_get_decoding_warnings) warnings = nullptr;
  decltype(&heif_image_get_width) image_width = nullptr;
  decltype(&heif_image_get_height) image_height = nullptr;
  decltype(&heif_image_get_bits_per_pixel_range) image_bits = nullptr;
  decltype(&heif_image_get_plane_readonly) plane = nullptr;
};

Result<Library> load_library() {
  Result<SharedLibrary> file = SharedLibrary::open(POUNCE_HEIF_SONAME);
  if (!file) return tl::make_unexpected(missing_library("HEIC", POUNCE_HEIF_SONAME));
  Library heif{std::move(*file)};
  const SharedLibrary& f = heif.file;
  bool has_all = f.find("heif_context_alloc", heif.context_alloc) &&
                 f.find("heif_context_free", heif.context_free) &&
                 f.find("heif_context_set_max_decoding_threads", heif.set_threads) &&
                 f.find("heif_context_set_maximum_image_size_limit", heif.set_largest_side) &&
                 f.find("heif_context_read_from_memory_without_copy", heif.read) &&
                 f.find("heif_context_get_primary_image_handle", heif.primary) &&
                 f.find("heif_image_handle_release", heif.handle_release) &&
                 f.find("heif_image_handle_get_width", heif.handle_width) &&
                 f.find("heif_image_handle_get_height", heif.handle_height) &&
                 f.find("heif_image_handle_get_luma_bits_per_pixel", heif.handle_bits) &&
                 f.find("heif_decoding_options_alloc", heif.options_alloc) &&
                 f.find("heif_decoding_options_free", heif.options_free) &&
                 f.find("heif_decode_image", heif.decode) &&
                 f.find("heif_image_release", heif.image_release) &&
                 f.find("heif_image_handle_get_ispe_width", heif.stored_width) &&
                 f.find("heif_image_handle_get_ispe_height", heif.stored_height) &&
                 f.find("heif_image_get_decoding_warnings", heif.warnings) &&
                 f.find("heif_image_get_width", heif.image_width) &&
                 f.find("heif_image_get_height", heif.image_height) &&
                 f.find("heif_image_get_bits_per_pixel_range", heif.image_bits) &&
                 f.find("heif_image_get_plane_readonly", heif.plane);
  if (!has_all) return tl::make_unexpected(old_library("HEIC", POUNCE_HEIF_SONAME));
  return heif;
}

const Result<Library>& library() {
  static const Result<Library> loaded = load_library();
  return loaded;
}

constexpr int kBlock = 64;  // pixels, at most

using Context = std::unique_ptr<heif_context, decltype(&heif_context_free)>;
using Handle = std::unique_ptr<heif_image_handle, decltype(&heif_image_handle_release)>;
using Picture = std::unique_ptr<heif_image, decltype(&heif_image_release)>;
using Options = std::unique_ptr<heif_decoding_options, decltype(&heif_decoding_options_free)>;

// Some of libheif's texts end with a new line.
std::string text_of(const heif_error& error) {
  std::string text(error.message ? error.message : "not readable");
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

tl::unexpected<Error> heif_error_of(const heif_error& error) {
  switch (error.code) {
    case heif_error_Memory_allocation_error:
      return unsupported(fmt::format("HEIC: {}", text_of(error)));
    case heif_error_Unsupported_filetype:
    case heif_error_Unsupported_feature:
      return unsupported(fmt::format("HEIC that libheif cannot decode: {}", text_of(error)));
    default:
      return damaged(fmt::format("damaged HEIC: {}", text_of(error)));
  }
}

Result<Picture> decode_primary(const Library& heif, const heif_image_handle* handle, bool is_deep,
                               const DecodeRule& rule) {
  Options options(heif.options_alloc(), heif.options_free);
  if (!options) return unsupported("no memory for a HEIC image");
  // The file's own properties turn it; an EXIF orientation beside them says the same once more and
  // is not applied. Source: ISO/IEC 23008-12, 6.5.10 and 6.5.12.
  options->ignore_transformations = rule.exif ? 0 : 1;
  if (options->version >= 3) options->strict_decoding = 1;
  heif_image* raw = nullptr;
  heif_chroma chroma = is_deep ? heif_chroma_interleaved_RRGGBB_LE : heif_chroma_interleaved_RGB;
  heif_error error = heif.decode(handle, &raw, heif_colorspace_RGB, chroma, options.get());
  Picture picture(raw, heif.image_release);
  if (error.code != heif_error_Ok) return heif_error_of(error);
  if (!picture) return damaged("damaged HEIC: no picture");
  heif_error warning{};
  if (heif.warnings(raw, 0, &warning, 1) > 0) {
    return damaged(fmt::format("damaged HEIC: {}", text_of(warning)));
  }
  return picture;
}

// 16-bit little-endian samples of `bits` to the nearest of 256 levels.
void scale_row(const uint8_t* row, int bits, size_t samples, uint8_t* out) {
  uint32_t most = (1U << bits) - 1;
  for (size_t i = 0; i < samples; ++i) {
    uint32_t value = std::min(uint32_t(row[2 * i]) | uint32_t(row[2 * i + 1]) << 8, most);
    out[i] = uint8_t((value * 255 + most / 2) / most);
  }
}

Result<void> copy_pixels(const Library& heif, const heif_image* picture, bool is_deep,
                         Image& image) {
  int64_t width = heif.image_width(picture, heif_channel_interleaved);
  int64_t height = heif.image_height(picture, heif_channel_interleaved);
  if (auto refused = check_extents(width, height)) return tl::make_unexpected(*refused);
  int stride = 0, bits = heif.image_bits(picture, heif_channel_interleaved);
  const uint8_t* row = heif.plane(picture, heif_channel_interleaved, &stride);
  if (!row || (is_deep && (bits < 9 || bits > 16))) return damaged("damaged HEIC: no pixels");
  image.width = int(width);
  image.height = int(height);
  size_t samples = size_t(width) * 3;
  image.rgb.resize(samples * size_t(height));
  for (size_t y = 0; y < size_t(height); ++y, row += stride) {
    uint8_t* out = image.rgb.data() + y * samples;
    if (is_deep) {
      scale_row(row, bits, samples, out);
    } else {
      std::copy_n(row, samples, out);
    }
  }
  return {};
}

// The coded picture may be padded to whole blocks.
Result<void> check_declared_extents(const Library& heif, const heif_image_handle* handle,
                                    const Image& image, const DecodeRule& rule) {
  int width = rule.exif ? heif.handle_width(handle) : heif.stored_width(handle);
  int height = rule.exif ? heif.handle_height(handle) : heif.stored_height(handle);
  bool is_near = std::abs(width - image.width) < kBlock && std::abs(height - image.height) < kBlock;
  if (is_near) return {};
  return damaged(fmt::format("damaged HEIC: it declares {}x{} pixels and holds {}x{}", width,
                             height, image.width, image.height));
}

// Gives free memory of about the sizes of the picture's planes another content.
void soil_memory(size_t pixels, int value) {
  // The compiler must not leave out what fills memory that is freed.
  void* (*volatile fill)(void*, int, size_t) = std::memset;
  std::vector<std::vector<uint8_t>> blocks;
  for (size_t bytes : {pixels, pixels / 2, pixels / 4}) {
    constexpr size_t kMargin = 64;
    for (size_t i = 0; i < 4; ++i) blocks.emplace_back(bytes + kMargin * i);
  }
  for (std::vector<uint8_t>& block : blocks) fill(block.data(), value, block.size());
}

// Twice: where pixels are missing libheif's decoder leaves what lay in memory, and says nothing.
// The first picture stays where it is, so that the second lies elsewhere.
Result<void> decode_pixels(const Library& heif, const heif_image_handle* handle, Image& image,
                           const DecodeRule& rule) {
  bool is_deep = heif.handle_bits(handle) > 8;
  constexpr size_t kMostSoiled = size_t{1} << 20;  // larger planes come from the system, as zeros
  auto pixels = size_t(heif.handle_width(handle)) * size_t(heif.handle_height(handle));
  if (pixels <= kMostSoiled) soil_memory(pixels, 0x5A);
  Result<Picture> picture = decode_primary(heif, handle, is_deep, rule);
  if (!picture) return tl::make_unexpected(picture.error());
  Result<void> done = copy_pixels(heif, picture->get(), is_deep, image);
  if (done) done = check_declared_extents(heif, handle, image, rule);
  if (!done) return done;
  if (pixels <= kMostSoiled) soil_memory(pixels, 0xA5);
  Result<Picture> again = decode_primary(heif, handle, is_deep, rule);
  if (!again) return tl::make_unexpected(again.error());
  Image second;
  done = copy_pixels(heif, again->get(), is_deep, second);
  if (done && second.rgb != image.rgb) {
    return damaged("damaged HEIC: its pixels come out differently each time");
  }
  return done;
}

}  // namespace

std::optional<Error> heic_problem() {
  if (!library()) return library().error();
  return std::nullopt;
}

Result<void> decode_heic(std::span<const uint8_t> bytes, Image& image, const DecodeRule& rule) {
  if (!library()) return tl::make_unexpected(library().error());
  HeaderReader reader(bytes);
  Result<ImageHeader> header = read_heif_header(reader, ImageFormat::Heic);
  if (!header) return tl::make_unexpected(header.error());
  const Library& heif = *library();
  Context context(heif.context_alloc(), heif.context_free);
  if (!context) return unsupported("no memory for a HEIC image");
  heif.set_threads(context.get(), 0);  // none besides this one
  // A grid says for itself how large it is, and libheif would make room for that.
  heif.set_largest_side(context.get(), std::max(header->width, header->height) + kBlock);
  heif_error error = heif.read(context.get(), bytes.data(), bytes.size(), nullptr);
  if (error.code != heif_error_Ok) return heif_error_of(error);
  heif_image_handle* raw = nullptr;
  error = heif.primary(context.get(), &raw);
  Handle handle(raw, heif.handle_release);
  if (error.code != heif_error_Ok) return heif_error_of(error);
  if (auto refused = check_extents(heif.handle_width(raw), heif.handle_height(raw))) {
    return tl::make_unexpected(*refused);
  }
  return decode_pixels(heif, raw, image, rule);
}

}  // namespace pounce

#else

namespace pounce {

std::optional<Error> heic_problem() {
  return built_without("HEIC", "libheif");
}

Result<void> decode_heic(std::span<const uint8_t>, Image&, const DecodeRule&) {
  return tl::make_unexpected(*heic_problem());
}

}  // namespace pounce

#endif
