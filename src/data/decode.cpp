#include "data/decode.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/text.h"
#include "data/codecs.h"

namespace pounce {
namespace {

bool has_at(std::span<const uint8_t> head, size_t at, std::string_view magic) {
  return head.size() >= at + magic.size() &&
         std::memcmp(head.data() + at, magic.data(), magic.size()) == 0;
}

// ISO base media files name their kind in the "ftyp" box: major brand, then compatible ones.
ImageFormat sniff_ftyp(std::span<const uint8_t> head) {
  constexpr std::string_view kHeic[] = {"heic", "heix", "hevc", "heim", "heis", "mif1", "msf1"};
  size_t end = std::min<size_t>(head.size(), 32);
  for (size_t at = 8; at + 4 <= end; at += 4) {
    if (has_at(head, at, "avif") || has_at(head, at, "avis")) return ImageFormat::Avif;
  }
  for (std::string_view brand : kHeic) {
    if (has_at(head, 8, brand)) return ImageFormat::Heic;
  }
  return ImageFormat::Unknown;
}

// "BM", then four reserved bytes that most writers leave 0, or a bitmap header of a known size.
bool is_bmp(std::span<const uint8_t> head) {
  using namespace std::string_view_literals;
  if (!has_at(head, 0, "BM")) return false;
  if (has_at(head, 6, "\0\0\0\0"sv)) return true;
  return has_at(head, 15, "\0\0\0"sv) && (head[14] == 40 || head[14] == 108 || head[14] == 124);
}

bool is_pnm(std::span<const uint8_t> head) {
  return head.size() > 2 && head[0] == 'P' && head[1] >= '1' && head[1] <= '7' &&
         (head[2] == ' ' || head[2] == '\n' || head[2] == '\r' || head[2] == '\t');
}

}  // namespace

ImageFormat sniff_format(std::span<const uint8_t> head) {
  using namespace std::string_view_literals;
  if (has_at(head, 0, "\xFF\xD8\xFF"sv)) return ImageFormat::Jpeg;
  if (has_at(head, 0, "\x89PNG\r\n\x1A\n"sv)) return ImageFormat::Png;
  if (has_at(head, 0, "RIFF"sv) && has_at(head, 8, "WEBP"sv)) return ImageFormat::WebP;
  if (has_at(head, 0, "GIF87a"sv) || has_at(head, 0, "GIF89a"sv)) return ImageFormat::Gif;
  if (is_bmp(head)) return ImageFormat::Bmp;
  for (std::string_view magic : {"II*\0"sv, "MM\0*"sv, "II+\0"sv, "MM\0+"sv}) {
    if (has_at(head, 0, magic)) return ImageFormat::Tiff;
  }
  if (has_at(head, 4, "ftyp"sv)) return sniff_ftyp(head);
  if (has_at(head, 0, "\xFF\x0A"sv) || has_at(head, 4, "JXL \r\n\x87\n"sv)) {
    return ImageFormat::JpegXl;
  }
  if (has_at(head, 4, "jP  \r\n\x87\n"sv) || has_at(head, 0, "\xFF\x4F\xFF\x51"sv)) {
    return ImageFormat::Jpeg2000;
  }
  return is_pnm(head) ? ImageFormat::Pnm : ImageFormat::Unknown;
}

std::string_view format_name(ImageFormat format) {
  switch (format) {
    case ImageFormat::Unknown:
      return "unknown";
    case ImageFormat::Jpeg:
      return "JPEG";
    case ImageFormat::Png:
      return "PNG";
    case ImageFormat::WebP:
      return "WebP";
    case ImageFormat::Gif:
      return "GIF";
    case ImageFormat::Bmp:
      return "BMP";
    case ImageFormat::Tiff:
      return "TIFF";
    case ImageFormat::Avif:
      return "AVIF";
    case ImageFormat::Heic:
      return "HEIC";
    case ImageFormat::JpegXl:
      return "JPEG XL";
    case ImageFormat::Jpeg2000:
      return "JPEG 2000";
    case ImageFormat::Pnm:
      return "PNM";
  }
  return "unknown";
}

std::optional<Error> format_problem(ImageFormat format) {
  switch (format) {
    case ImageFormat::Jpeg:
    case ImageFormat::Png:
    case ImageFormat::WebP:
    case ImageFormat::Gif:
    case ImageFormat::Bmp:
      return std::nullopt;
    case ImageFormat::Tiff:
      return tiff_problem();
    case ImageFormat::Avif:
      return avif_problem();
    case ImageFormat::Heic:
      return heic_problem();
    case ImageFormat::Unknown:
      return Error(ErrorKind::BadData, "the content is not an image");
    default:
      return Error(ErrorKind::Unsupported,
                   fmt::format("{} images cannot be decoded", format_name(format)));
  }
}

bool can_decode(ImageFormat format) {
  return !format_problem(format);
}

Error missing_library(std::string_view format, std::string_view soname) {
  size_t dot = soname.find(".so.");
  std::string name(soname.substr(0, dot)), package = name;
  if (dot != soname.npos) package += soname.substr(dot + 4);
  return Error(ErrorKind::Unsupported,
               fmt::format("{} images need {}, which is not installed (apt install {})", format,
                           name, package));
}

Error old_library(std::string_view format, std::string_view soname) {
  return Error(
      ErrorKind::Unsupported,
      fmt::format("{} images need another version of {} than the one installed", format, soname));
}

Error built_without(std::string_view format, std::string_view library) {
  return Error(ErrorKind::Unsupported,
               fmt::format("{} images are not supported here: Pounce was built without {}", format,
                           library));
}

bool is_image_extension(std::string_view extension) {
  constexpr std::array kExtensions = {"jpg", "jpeg", "jpe",  "jfif", "png",  "webp", "gif", "bmp",
                                      "dib", "tif",  "tiff", "avif", "heic", "heif", "mpo", "ppm",
                                      "pgm", "pbm",  "pnm",  "apng", "jxl",  "jp2",  "j2k"};
  return std::find(kExtensions.begin(), kExtensions.end(), extension) != kExtensions.end();
}

std::optional<Error> check_extents(int64_t width, int64_t height) {
  if (width <= 0 || height <= 0) {
    return Error(ErrorKind::BadData, fmt::format("the header says {}x{} pixels", width, height));
  }
  if (width > kMaxPixels / height) {
    return Error(ErrorKind::Unsupported,
                 fmt::format("{}x{} pixels, more than the {} that are decoded (it may be a "
                             "decompression bomb)",
                             width, height, group_digits(kMaxPixels)));
  }
  return std::nullopt;
}

Error cannot_hold(ImageFormat format, int64_t width, int64_t height, uint64_t file_bytes) {
  return Error(ErrorKind::BadData,
               fmt::format("damaged {}: {} bytes cannot hold {}x{} pixels (it may be a "
                           "decompression bomb)",
                           format_name(format), group_digits(int64_t(file_bytes)), width, height));
}

std::optional<Error> check_capacity(ImageFormat format, int64_t width, int64_t height,
                                    const PackedPixels& pixels) {
  if (pixels.needed_bytes / pixels.most_per_byte <= pixels.file_bytes) return std::nullopt;
  return cannot_hold(format, width, height, pixels.file_bytes);
}

std::optional<Error> check_file_size(uint64_t bytes) {
  if (bytes <= kMaxFileBytes) return std::nullopt;
  return Error(ErrorKind::Unsupported,
               fmt::format("{} bytes, more than the {} of a picture that is read",
                           group_digits(int64_t(bytes)), group_digits(int64_t(kMaxFileBytes))));
}

Result<void> decode_image(std::span<const uint8_t> bytes, Image& image, const DecodeRule& rule) {
  if (bytes.empty()) return damaged("the file is empty");
  ImageFormat format = sniff_format(bytes.first(std::min<size_t>(bytes.size(), 32)));
  switch (format) {
    case ImageFormat::Jpeg:
      return decode_jpeg(bytes, image, rule);
    case ImageFormat::Png:
      return decode_png(bytes, image, rule);
    case ImageFormat::WebP:
      return decode_webp(bytes, image, rule);
    case ImageFormat::Gif:
      return decode_gif(bytes, image, rule);
    case ImageFormat::Bmp:
      return decode_bmp(bytes, image, rule);
    case ImageFormat::Tiff:
      return decode_tiff(bytes, image, rule);
    case ImageFormat::Avif:
      return decode_avif(bytes, image, rule);
    case ImageFormat::Heic:
      return decode_heic(bytes, image, rule);
    default:
      return tl::make_unexpected(*format_problem(format));
  }
}

Result<Image> decode_image(std::span<const uint8_t> bytes, const DecodeRule& rule) {
  Image image;
  if (Result<void> done = decode_image(bytes, image, rule); !done) {
    return tl::make_unexpected(done.error());
  }
  return image;
}

}  // namespace pounce
