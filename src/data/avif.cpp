// AVIF through libavif, opened at the first such file: the primary picture, or the first frame.
#include "data/codecs.h"

#if POUNCE_HAS_AVIF
#include <algorithm>
#include <memory>

#include <avif/avif.h>

#include "base/shared_library.h"
#include "data/av1_sequence.h"
#include "data/header_reader.h"

namespace pounce {
namespace {

struct Library {
  SharedLibrary file;
  decltype(&avifDecoderCreate) create = nullptr;
  decltype(&avifDecoderDestroy) destroy = nullptr;
  decltype(&avifDecoderSetIOMemory) set_memory = nullptr;
  decltype(&avifDecoderParse) parse = nullptr;
  decltype(&avifDecoderNthImageMaxExtent) extent = nullptr;
  decltype(&avifDecoderNextImage) next_image = nullptr;
  decltype(&avifRGBImageSetDefaults) set_rgb_defaults = nullptr;
  decltype(&avifImageYUVToRGB) to_rgb = nullptr;
  decltype(&avifResultToString) result_text = nullptr;
};

Result<Library> load_library() {
  Result<SharedLibrary> file = SharedLibrary::open(POUNCE_AVIF_SONAME);
  if (!file) return tl::make_unexpected(missing_library("AVIF", POUNCE_AVIF_SONAME));
  Library avif{std::move(*file)};
  const SharedLibrary& f = avif.file;
  bool has_all =
      f.find("avifDecoderCreate", avif.create) && f.find("avifDecoderDestroy", avif.destroy) &&
      f.find("avifDecoderSetIOMemory", avif.set_memory) && f.find("avifDecoderParse", avif.parse) &&
      f.find("avifDecoderNthImageMaxExtent", avif.extent) &&
      f.find("avifDecoderNextImage", avif.next_image) &&
      f.find("avifRGBImageSetDefaults", avif.set_rgb_defaults) &&
      f.find("avifImageYUVToRGB", avif.to_rgb) && f.find("avifResultToString", avif.result_text);
  if (!has_all) return tl::make_unexpected(old_library("AVIF", POUNCE_AVIF_SONAME));
  return avif;
}

const Result<Library>& library() {
  static const Result<Library> loaded = load_library();
  return loaded;
}

using Decoder = std::unique_ptr<avifDecoder, decltype(&avifDecoderDestroy)>;

Decoder make_decoder(const Library& avif, std::span<const uint8_t> bytes) {
  Decoder decoder(avif.create(), avif.destroy);
  if (!decoder) return decoder;
  decoder->maxThreads = 1;
  decoder->ignoreExif = AVIF_TRUE;
  decoder->ignoreXMP = AVIF_TRUE;
  decoder->imageSizeLimit = uint32_t(kMaxPixels);
  decoder->imageDimensionLimit = 0;  // the pixels are limited, not the sides
  // What old encoders left out changes no pixel.
  decoder->strictFlags &= ~avifStrictFlags(AVIF_STRICT_CLAP_VALID | AVIF_STRICT_PIXI_REQUIRED);
  if (avif.set_memory(decoder.get(), bytes.data(), bytes.size()) != AVIF_RESULT_OK) {
    decoder.reset();
  }
  return decoder;
}

tl::unexpected<Error> avif_error(const Library& avif, avifResult result) {
  switch (result) {
    case AVIF_RESULT_OUT_OF_MEMORY:
      return tl::unexpected<Error>(Error(ErrorKind::OutOfMemory, "no memory for an AVIF image"));
    case AVIF_RESULT_NO_CODEC_AVAILABLE:
      return unsupported("AVIF images need libavif with a decoder for AV1");
    case AVIF_RESULT_NOT_IMPLEMENTED:
    case AVIF_RESULT_UNSUPPORTED_DEPTH:
      return unsupported(fmt::format("AVIF: {}", avif.result_text(result)));
    default:
      return damaged(fmt::format("damaged AVIF: {}", avif.result_text(result)));
  }
}

// Whether the file says that its picture is laid out of tiles, or of more frames than one, whose
// streams are rightly of another size. In doubt it does.
bool has_several_streams(const avifDecoder& decoder, std::span<const uint8_t> bytes) {
  constexpr char kGrid[] = {'g', 'r', 'i', 'd'};
  std::span<const uint8_t> boxes = bytes.first(std::min<size_t>(bytes.size(), 64 * 1024));
  return decoder.imageCount > 1 ||
         std::search(boxes.begin(), boxes.end(), std::begin(kGrid), std::end(kGrid)) != boxes.end();
}

// libavif stretches a small picture to the extents that its file declares, however large.
std::optional<Error> check_declared_extents(const Library& avif, const avifDecoder& decoder,
                                            std::span<const uint8_t> bytes) {
  avifExtent place{};
  if (has_several_streams(decoder, bytes)) return std::nullopt;
  if (avif.extent(&decoder, 0, &place) != AVIF_RESULT_OK) return std::nullopt;
  if (place.offset > bytes.size() || place.size > bytes.size() - place.offset) return std::nullopt;
  auto coded = av1_extents(bytes.subspan(size_t(place.offset), size_t(place.size)));
  int64_t width = decoder.image->width, height = decoder.image->height;
  if (!coded || (width <= coded->width && height <= coded->height)) return std::nullopt;
  return Error(ErrorKind::BadData,
               fmt::format("damaged AVIF: it declares {}x{} pixels and holds {}x{}", width, height,
                           coded->width, coded->height));
}

// Without an alpha channel in the output libavif would blend with black.
Result<void> convert(const Library& avif, const avifImage& source, Image& image) {
  bool has_alpha = source.alphaPlane != nullptr;
  size_t pixels = size_t(image.width) * size_t(image.height);
  std::vector<uint8_t> with_alpha(has_alpha ? pixels * 4 : 0);
  avifRGBImage rgb{};
  avif.set_rgb_defaults(&rgb, &source);
  rgb.depth = 8;
  rgb.format = has_alpha ? AVIF_RGB_FORMAT_RGBA : AVIF_RGB_FORMAT_RGB;
  rgb.pixels = has_alpha ? with_alpha.data() : image.rgb.data();
  rgb.rowBytes = uint32_t(image.width) * (has_alpha ? 4 : 3);
  avifResult result = avif.to_rgb(&source, &rgb);
  if (result != AVIF_RESULT_OK) return avif_error(avif, result);
  for (size_t i = 0; has_alpha && i < pixels; ++i) {
    std::copy_n(&with_alpha[4 * i], 3, &image.rgb[3 * i]);
  }
  return {};
}

// The file's own properties turn it; an EXIF orientation beside them says the same once more and
// is not applied. Source: ISO/IEC 23008-12, 6.5.10 and 6.5.12.
void apply_transforms(const avifImage& source, Image& image) {
  constexpr int kByQuarterTurns[] = {1, 8, 3, 6};  // counter-clockwise
  if (source.transformFlags & AVIF_TRANSFORM_IROT) {
    apply_orientation(image, kByQuarterTurns[source.irot.angle & 3]);
  }
  if (source.transformFlags & AVIF_TRANSFORM_IMIR) {
#if AVIF_VERSION >= 1000000
    bool swaps_sides = source.imir.axis == 1;
#else
    bool swaps_sides = source.imir.mode == 1;
#endif
    apply_orientation(image, swaps_sides ? 2 : 4);
  }
}

}  // namespace

std::optional<Error> avif_problem() {
  if (!library()) return library().error();
  return std::nullopt;
}

Result<void> decode_avif(std::span<const uint8_t> bytes, Image& image, const DecodeRule& rule) {
  if (!library()) return tl::make_unexpected(library().error());
  HeaderReader reader(bytes);
  Result<ImageHeader> header = read_heif_header(reader, ImageFormat::Avif);
  if (!header) return tl::make_unexpected(header.error());
  const Library& avif = *library();
  Decoder decoder = make_decoder(avif, bytes);
  if (!decoder) return avif_error(avif, AVIF_RESULT_OUT_OF_MEMORY);
  avifResult result = avif.parse(decoder.get());
  if (result != AVIF_RESULT_OK) return avif_error(avif, result);
  if (auto refused = check_extents(decoder->image->width, decoder->image->height)) {
    return tl::make_unexpected(*refused);
  }
  if (auto refused = check_declared_extents(avif, *decoder, bytes)) {
    return tl::make_unexpected(*refused);
  }
  result = avif.next_image(decoder.get());
  if (result != AVIF_RESULT_OK) return avif_error(avif, result);
  // The coded picture may be of another size than its file said.
  const avifImage& source = *decoder->image;
  if (auto refused = check_extents(source.width, source.height)) {
    return tl::make_unexpected(*refused);
  }
  image.width = int(source.width);
  image.height = int(source.height);
  image.rgb.resize(size_t(image.width) * size_t(image.height) * 3);
  if (Result<void> done = convert(avif, source, image); !done) return done;
  if (rule.exif) apply_transforms(source, image);
  return {};
}

}  // namespace pounce

#else

namespace pounce {

std::optional<Error> avif_problem() {
  return built_without("AVIF", "libavif");
}

Result<void> decode_avif(std::span<const uint8_t>, Image&, const DecodeRule&) {
  return tl::make_unexpected(*avif_problem());
}

}  // namespace pounce

#endif
