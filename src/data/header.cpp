#include "data/header.h"

#include <algorithm>

#include "data/codecs.h"
#include "data/header_reader.h"

namespace pounce {

HeaderReader::HeaderReader(InputFile file) : file_(std::move(file)) {}

HeaderReader::HeaderReader(std::span<const uint8_t> content) : content_(content) {}

uint64_t HeaderReader::size() const {
  return file_ ? file_->size() : content_.size();
}

Result<size_t> HeaderReader::read_at(uint64_t offset, std::span<uint8_t> into) const {
  if (file_) return file_->read_at(offset, into);
  if (offset >= content_.size()) return 0;
  std::span<const uint8_t> rest = content_.subspan(size_t(offset));
  size_t n = std::min(rest.size(), into.size());
  std::copy_n(rest.begin(), n, into.begin());
  return n;
}

Result<std::span<const uint8_t>> HeaderReader::bytes(uint64_t offset, size_t n) {
  if (offset >= size()) return std::span<const uint8_t>();
  bool is_buffered = offset >= start_ && offset + n <= start_ + buffer_.size();
  if (!is_buffered) {
    buffer_.resize(std::max<size_t>(n, 4096));
    Result<size_t> got = read_at(offset, buffer_);
    if (!got) return tl::make_unexpected(got.error());
    buffer_.resize(*got);
    start_ = offset;
  }
  size_t at = size_t(offset - start_);
  return std::span<const uint8_t>(buffer_).subspan(at, std::min(n, buffer_.size() - at));
}

uint32_t big_endian(std::span<const uint8_t> bytes) {
  uint32_t value = 0;
  for (uint8_t byte : bytes) value = value << 8 | byte;
  return value;
}

uint32_t little_endian(std::span<const uint8_t> bytes) {
  uint32_t value = 0;
  for (size_t i = bytes.size(); i-- > 0;) value = value << 8 | bytes[i];
  return value;
}

namespace {

Result<ImageHeader> read_header_of(ImageFormat format, HeaderReader& reader) {
  switch (format) {
    case ImageFormat::Jpeg:
      return read_jpeg_header(reader);
    case ImageFormat::Png:
      return read_png_header(reader);
    case ImageFormat::WebP:
      return read_webp_header(reader);
    case ImageFormat::Gif:
      return read_gif_header(reader);
    case ImageFormat::Bmp:
      return read_bmp_header(reader);
    case ImageFormat::Tiff:
      return read_tiff_header(reader);
    case ImageFormat::Avif:
    case ImageFormat::Heic:
      return read_heif_header(reader, format);
    default:
      return tl::make_unexpected(*format_problem(format));
  }
}

Result<ImageHeader> read_header(HeaderReader& reader, ImageFormat* unsupported_format) {
  if (auto refused = check_file_size(reader.size())) return tl::make_unexpected(*refused);
  Result<std::span<const uint8_t>> head = reader.bytes(0, 32);
  if (!head) return tl::make_unexpected(head.error());
  if (head->empty()) return damaged("the file is empty");
  ImageFormat format = sniff_format(*head);
  if (std::optional<Error> problem = format_problem(format)) {
    if (unsupported_format) *unsupported_format = format;
    return tl::make_unexpected(*problem);
  }
  return read_header_of(format, reader);
}

}  // namespace

Result<ImageHeader> read_image_header(const std::string& path, ImageFormat* unsupported_format) {
  Result<InputFile> file = InputFile::open(path);
  if (!file) return tl::make_unexpected(file.error());
  HeaderReader reader(std::move(*file));
  return read_header(reader, unsupported_format);
}

Result<ImageHeader> read_image_header(std::span<const uint8_t> content,
                                      ImageFormat* unsupported_format) {
  HeaderReader reader(content);
  return read_header(reader, unsupported_format);
}

}  // namespace pounce
