// TIFF through libtiff, opened at the first such file: the first page. libtiff unpacks strips and
// tiles; the samples become colours here (tiff_samples.h), because libtiff's own way to RGB drops
// the low byte of 16-bit samples and multiplies colours by their transparency.
#include "data/codecs.h"

#if POUNCE_HAS_TIFF
#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <memory>

#include <tiffio.h>

#include "base/shared_library.h"
#include "data/header_reader.h"
#include "data/tiff_samples.h"

namespace pounce {
namespace {

// What a row, a tile or one of libtiff's own buffers may take; real ones need far less.
constexpr uint64_t kMaxPieceBytes = uint64_t{1} << 29;
constexpr int kMaxSamples = 8;

struct Library {
  SharedLibrary file;
  decltype(&TIFFOpenOptionsAlloc) options_alloc = nullptr;
  decltype(&TIFFOpenOptionsFree) options_free = nullptr;
  decltype(&TIFFOpenOptionsSetMaxSingleMemAlloc) set_most_memory = nullptr;
  decltype(&TIFFOpenOptionsSetErrorHandlerExtR) set_error_handler = nullptr;
  decltype(&TIFFOpenOptionsSetWarningHandlerExtR) set_warning_handler = nullptr;
  decltype(&TIFFClientOpenExt) open = nullptr;
  decltype(&TIFFClose) close = nullptr;
  decltype(&TIFFGetField) get = nullptr;
  decltype(&TIFFGetFieldDefaulted) get_or_default = nullptr;
  decltype(&TIFFSetField) set = nullptr;
  decltype(&TIFFIsTiled) is_tiled = nullptr;
  decltype(&TIFFScanlineSize64) row_bytes = nullptr;
  decltype(&TIFFReadScanline) read_row = nullptr;
  decltype(&TIFFTileSize64) tile_bytes = nullptr;
  decltype(&TIFFTileRowSize64) tile_row_bytes = nullptr;
  decltype(&TIFFReadTile) read_tile = nullptr;
  decltype(&TIFFRGBAImageOK) can_convert = nullptr;
  decltype(&TIFFReadRGBAImageOriented) convert = nullptr;
};

Result<Library> load_library() {
  Result<SharedLibrary> file = SharedLibrary::open(POUNCE_TIFF_SONAME);
  if (!file) return tl::make_unexpected(missing_library("TIFF", POUNCE_TIFF_SONAME));
  Library tiff{std::move(*file)};
  const SharedLibrary& f = tiff.file;
  bool has_all =
      f.find("TIFFOpenOptionsAlloc", tiff.options_alloc) &&
      f.find("TIFFOpenOptionsFree", tiff.options_free) &&
      f.find("TIFFOpenOptionsSetMaxSingleMemAlloc", tiff.set_most_memory) &&
      f.find("TIFFOpenOptionsSetErrorHandlerExtR", tiff.set_error_handler) &&
      f.find("TIFFOpenOptionsSetWarningHandlerExtR", tiff.set_warning_handler) &&
      f.find("TIFFClientOpenExt", tiff.open) && f.find("TIFFClose", tiff.close) &&
      f.find("TIFFGetField", tiff.get) && f.find("TIFFGetFieldDefaulted", tiff.get_or_default) &&
      f.find("TIFFSetField", tiff.set) && f.find("TIFFIsTiled", tiff.is_tiled) &&
      f.find("TIFFScanlineSize64", tiff.row_bytes) && f.find("TIFFReadScanline", tiff.read_row) &&
      f.find("TIFFTileSize64", tiff.tile_bytes) &&
      f.find("TIFFTileRowSize64", tiff.tile_row_bytes) && f.find("TIFFReadTile", tiff.read_tile) &&
      f.find("TIFFRGBAImageOK", tiff.can_convert) &&
      f.find("TIFFReadRGBAImageOriented", tiff.convert);
  if (!has_all) return tl::make_unexpected(old_library("TIFF", POUNCE_TIFF_SONAME));
  return tiff;
}

const Result<Library>& library() {
  static const Result<Library> loaded = load_library();
  return loaded;
}

// The file in memory, and what libtiff says of it.
struct Source {
  std::span<const uint8_t> bytes;
  uint64_t at = 0;
  bool is_decoding = false;  // behind the directory
  std::string message;       // the first
};

tmsize_t read_source(thandle_t handle, void* into, tmsize_t n) {
  auto& source = *static_cast<Source*>(handle);
  uint64_t rest = source.at < source.bytes.size() ? source.bytes.size() - source.at : 0;
  auto got = size_t(std::min<uint64_t>(rest, uint64_t(n)));
  if (got > 0)
    std::copy_n(source.bytes.begin() + int64_t(source.at), got, static_cast<uint8_t*>(into));
  source.at += got;
  return tmsize_t(got);
}

tmsize_t write_nothing(thandle_t, void*, tmsize_t) {
  return 0;
}

toff_t seek_source(thandle_t handle, toff_t offset, int whence) {
  auto& source = *static_cast<Source*>(handle);
  if (whence == SEEK_CUR) offset += source.at;
  if (whence == SEEK_END) offset += source.bytes.size();
  source.at = offset;
  return offset;
}

int close_source(thandle_t) {
  return 0;
}

toff_t size_source(thandle_t handle) {
  return static_cast<Source*>(handle)->bytes.size();
}

// libtiff reads the file where it lies. It writes to none that is opened for reading.
int map_source(thandle_t handle, void** base, toff_t* size) {
  std::span<const uint8_t> bytes = static_cast<Source*>(handle)->bytes;
  *base = const_cast<uint8_t*>(bytes.data());
  *size = bytes.size();
  return 1;
}

void unmap_source(thandle_t, void*, toff_t) {}

// 1: handled, nothing is printed.
int keep_error(TIFF*, void* user_data, const char*, const char* format, va_list arguments) {
  auto& source = *static_cast<Source*>(user_data);
  if (!source.message.empty()) return 1;
  char text[200];
  std::vsnprintf(text, sizeof text, format, arguments);
  source.message = text;
  return 1;
}

// Those about the directory are of tags nobody needs; those about pixels mean that libtiff guesses.
int keep_warning(TIFF* file, void* user_data, const char* module, const char* format,
                 va_list arguments) {
  bool is_of_pixels = static_cast<Source*>(user_data)->is_decoding;
  return is_of_pixels ? keep_error(file, user_data, module, format, arguments) : 1;
}

class Reader {
 public:
  Reader(const Library& tiff, std::span<const uint8_t> bytes)
      : tiff_(tiff), source_{bytes, 0, false, {}} {
    TIFFOpenOptions* options = tiff.options_alloc();
    if (!options) return;
    tiff.set_most_memory(options, tmsize_t(kMaxPieceBytes));
    tiff.set_error_handler(options, keep_error, &source_);
    tiff.set_warning_handler(options, keep_warning, &source_);
    file_ = tiff.open("", "r", &source_, read_source, write_nothing, seek_source, close_source,
                      size_source, map_source, unmap_source, options);
    tiff.options_free(options);
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  ~Reader() {
    if (file_) tiff_.close(file_);
  }

  Result<void> decode(Image& image, const DecodeRule& rule);

 private:
  tl::unexpected<Error> error() const {
    return damaged("damaged TIFF: " + (source_.message.empty() ? "not readable" : source_.message));
  }
  template <typename Value>
  Value field(uint32_t tag) const {
    Value value{};
    return tiff_.get_or_default(file_, tag, &value) ? value : Value{};
  }

  Result<void> read_layout();
  Result<void> read_palette();
  bool needs_conversion() const;
  Result<void> read_rows(TiffPixelWriter& writer);
  Result<void> read_tiles(TiffPixelWriter& writer);
  Result<void> read_converted(Image& image);

  const Library& tiff_;
  Source source_;
  TIFF* file_ = nullptr;
  int width_ = 0, height_ = 0;
  uint16_t photometric_ = 0, compression_ = 0;
  bool has_planes_ = false;
  TiffPixels pixels_;
};

Result<TiffColours> colours_of(uint16_t photometric) {
  switch (photometric) {
    case PHOTOMETRIC_MINISWHITE:
      return TiffColours::WhiteIsZero;
    case PHOTOMETRIC_MINISBLACK:
      return TiffColours::BlackIsZero;
    case PHOTOMETRIC_RGB:
    case PHOTOMETRIC_YCBCR:  // libjpeg or libtiff makes it RGB
      return TiffColours::Rgb;
    case PHOTOMETRIC_PALETTE:
      return TiffColours::Palette;
    case PHOTOMETRIC_SEPARATED:
      return TiffColours::Cmyk;
    default:
      return unsupported(fmt::format("TIFF with colours of kind {}", photometric));
  }
}

Result<void> Reader::read_layout() {
  int64_t width = field<uint32_t>(TIFFTAG_IMAGEWIDTH),
          height = field<uint32_t>(TIFFTAG_IMAGELENGTH);
  if (auto refused = check_extents(width, height)) return tl::make_unexpected(*refused);
  width_ = int(width);
  height_ = int(height);
  if (!tiff_.get(file_, TIFFTAG_PHOTOMETRIC, &photometric_)) photometric_ = PHOTOMETRIC_MINISBLACK;
  compression_ = field<uint16_t>(TIFFTAG_COMPRESSION);
  has_planes_ = field<uint16_t>(TIFFTAG_PLANARCONFIG) == PLANARCONFIG_SEPARATE;
  Result<TiffColours> colours = colours_of(photometric_);
  if (!colours) return tl::make_unexpected(colours.error());
  pixels_.colours = *colours;
  pixels_.bits = field<uint16_t>(TIFFTAG_BITSPERSAMPLE);
  pixels_.samples = field<uint16_t>(TIFFTAG_SAMPLESPERPIXEL);
  uint16_t format = field<uint16_t>(TIFFTAG_SAMPLEFORMAT);
  bool is_number = format == SAMPLEFORMAT_UINT || format == SAMPLEFORMAT_VOID;
  constexpr int kDepths[] = {1, 2, 4, 8, 12, 16};
  bool has_depth =
      std::find(std::begin(kDepths), std::end(kDepths), pixels_.bits) != std::end(kDepths);
  if (!is_number || !has_depth) {
    return unsupported(fmt::format("TIFF with {} samples of {} bits",
                                   is_number ? "unsigned" : "signed or floating-point",
                                   pixels_.bits));
  }
  if (pixels_.samples < pixels_.colour_samples() || pixels_.samples > kMaxSamples) {
    return unsupported(fmt::format("TIFF with {} samples a pixel", pixels_.samples));
  }
  uint16_t extra = 0;
  const uint16_t* kinds = nullptr;
  bool has_extra = tiff_.get(file_, TIFFTAG_EXTRASAMPLES, &extra, &kinds) && extra > 0 && kinds;
  pixels_.is_premultiplied = has_extra && kinds[0] == EXTRASAMPLE_ASSOCALPHA &&
                             pixels_.samples > pixels_.colour_samples() &&
                             pixels_.colours != TiffColours::Palette;
  return pixels_.colours == TiffColours::Palette ? read_palette() : Result<void>();
}

// 16-bit colours: the high byte, because writers put a byte there once or twice. Some old writers
// put it in the low one.
Result<void> Reader::read_palette() {
  if (pixels_.bits > 8) return unsupported("TIFF with a palette of more than 256 colours");
  const uint16_t* channels[3] = {};
  if (!tiff_.get(file_, TIFFTAG_COLORMAP, &channels[0], &channels[1], &channels[2])) {
    return damaged("damaged TIFF: no palette");
  }
  size_t count = size_t{1} << pixels_.bits;
  uint32_t any = 0;
  for (const uint16_t* channel : channels) {
    for (size_t i = 0; i < count; ++i) any |= channel[i];
  }
  int shift = any < 256 ? 0 : 8;
  pixels_.palette.resize(count);
  for (size_t i = 0; i < count; ++i) {
    for (size_t c = 0; c < 3; ++c) pixels_.palette[i][c] = uint8_t(channels[c][i] >> shift);
  }
  return {};
}

// Luma and chroma without JPEG: libtiff's own way to RGB, which has no transparency to spoil.
bool Reader::needs_conversion() const {
  return photometric_ == PHOTOMETRIC_YCBCR && (compression_ != COMPRESSION_JPEG || has_planes_);
}

Result<void> Reader::read_rows(TiffPixelWriter& writer) {
  uint64_t bytes = tiff_.row_bytes(file_);
  uint64_t samples = has_planes_ ? 1 : uint64_t(pixels_.samples);
  if (bytes < (uint64_t(width_) * samples * uint64_t(pixels_.bits) + 7) / 8) return error();
  if (bytes > kMaxPieceBytes) return unsupported("TIFF with rows of more than 512 MiB");
  std::vector<uint8_t> row(size_t{bytes});
  int planes = has_planes_ ? pixels_.needed_samples() : 1;
  for (int plane = 0; plane < planes; ++plane) {
    for (int y = 0; y < height_; ++y) {
      if (tiff_.read_row(file_, row.data(), uint32_t(y), uint16_t(plane)) < 0) return error();
      if (has_planes_) {
        writer.put_plane(plane, 0, y, width_, row.data());
      } else {
        writer.put(0, y, width_, row.data());
      }
    }
  }
  return {};
}

Result<void> Reader::read_tiles(TiffPixelWriter& writer) {
  uint64_t bytes = tiff_.tile_bytes(file_), row_bytes = tiff_.tile_row_bytes(file_);
  int64_t tile_width = field<uint32_t>(TIFFTAG_TILEWIDTH);
  int64_t tile_height = field<uint32_t>(TIFFTAG_TILELENGTH);
  if (bytes == 0 || tile_width <= 0 || tile_height <= 0) return error();
  if (bytes > kMaxPieceBytes) return unsupported("TIFF with tiles of more than 512 MiB");
  uint64_t samples = has_planes_ ? 1 : uint64_t(pixels_.samples);
  if (row_bytes < (uint64_t(tile_width) * samples * uint64_t(pixels_.bits) + 7) / 8 ||
      bytes < row_bytes * uint64_t(tile_height)) {
    return error();
  }
  std::vector<uint8_t> tile(size_t{bytes});
  int planes = has_planes_ ? pixels_.needed_samples() : 1;
  for (int64_t y = 0; y < height_; y += tile_height) {
    for (int64_t x = 0; x < width_; x += tile_width) {
      int columns = int(std::min(tile_width, width_ - x));
      int rows = int(std::min(tile_height, height_ - y));
      for (int plane = 0; plane < planes; ++plane) {
        if (tiff_.read_tile(file_, tile.data(), uint32_t(x), uint32_t(y), 0, uint16_t(plane)) < 0) {
          return error();
        }
        for (int row = 0; row < rows; ++row) {
          const uint8_t* packed = tile.data() + size_t(row) * row_bytes;
          if (has_planes_) {
            writer.put_plane(plane, int(x), int(y) + row, columns, packed);
          } else {
            writer.put(int(x), int(y) + row, columns, packed);
          }
        }
      }
    }
  }
  return {};
}

Result<void> Reader::read_converted(Image& image) {
  char reason[1024] = "";
  if (!tiff_.can_convert(file_, reason)) return unsupported(fmt::format("TIFF: {}", reason));
  // As stored: the orientation is applied later.
  tiff_.set(file_, TIFFTAG_ORIENTATION, uint16_t{ORIENTATION_TOPLEFT});
  std::vector<uint32_t> raster(size_t(width_) * size_t(height_));
  constexpr int kStopAtErrors = 1;
  if (!tiff_.convert(file_, uint32_t(width_), uint32_t(height_), raster.data(), ORIENTATION_TOPLEFT,
                     kStopAtErrors)) {
    return error();
  }
  for (size_t i = 0; i < raster.size(); ++i) {
    image.rgb[3 * i] = uint8_t(TIFFGetR(raster[i]));
    image.rgb[3 * i + 1] = uint8_t(TIFFGetG(raster[i]));
    image.rgb[3 * i + 2] = uint8_t(TIFFGetB(raster[i]));
  }
  return {};
}

Result<void> Reader::decode(Image& image, const DecodeRule& rule) {
  if (!file_) return error();
  if (Result<void> known = read_layout(); !known) return known;
  if (compression_ == COMPRESSION_OJPEG) return unsupported("TIFF with the JPEG of before 1995");
  int orientation = field<uint16_t>(TIFFTAG_ORIENTATION);
  image.width = width_;
  image.height = height_;
  image.rgb.resize(size_t(width_) * size_t(height_) * 3);
  source_.is_decoding = true;
  Result<void> done;
  if (needs_conversion()) {
    done = read_converted(image);
  } else {
    if (photometric_ == PHOTOMETRIC_YCBCR) {
      tiff_.set(file_, TIFFTAG_JPEGCOLORMODE, int{JPEGCOLORMODE_RGB});
    }
    TiffPixelWriter writer(pixels_, image);
    done = tiff_.is_tiled(file_) ? read_tiles(writer) : read_rows(writer);
    if (done && has_planes_) writer.join_planes();
  }
  // libtiff goes on behind what a decoder complains of, and fills up what it did not get.
  if (done && !source_.message.empty()) return error();
  if (done && rule.exif) apply_orientation(image, orientation);
  return done;
}

}  // namespace

std::optional<Error> tiff_problem() {
  if (!library()) return library().error();
  return std::nullopt;
}

Result<void> decode_tiff(std::span<const uint8_t> bytes, Image& image, const DecodeRule& rule) {
  if (!library()) return tl::make_unexpected(library().error());
  // libtiff makes do with what a cut file still holds.
  HeaderReader reader(bytes);
  Result<ImageHeader> header = read_tiff_header(reader);
  if (!header) return tl::make_unexpected(header.error());
  return Reader(*library(), bytes).decode(image, rule);
}

}  // namespace pounce

#else

namespace pounce {

std::optional<Error> tiff_problem() {
  return built_without("TIFF", "libtiff 4.5");
}

Result<void> decode_tiff(std::span<const uint8_t>, Image&, const DecodeRule&) {
  return tl::make_unexpected(*tiff_problem());
}

}  // namespace pounce

#endif
