// The file header of a BMP and the bitmap header behind it, of Windows (40 to 124 bytes) and of
// OS/2 (12 and 64). Source: BITMAPFILEHEADER to BITMAPV5HEADER of the Windows SDK; Pillow's
// BmpImagePlugin for what writers make of them.
#include <algorithm>

#include "data/bmp.h"
#include "data/codecs.h"
#include "data/header_reader.h"

namespace pounce {
namespace {

constexpr size_t kFileHeaderBytes = 14;
constexpr uint32_t kCoreHeaderBytes = 12, kInfoHeaderBytes = 40;

tl::unexpected<Error> cut_in_header() {
  return damaged("cut BMP: the file ends in its header");
}

bool is_known_header(uint32_t bytes) {
  constexpr uint32_t kKnown[] = {12, 40, 52, 56, 64, 108, 124};
  return std::find(std::begin(kKnown), std::end(kKnown), bytes) != std::end(kKnown);
}

class Fields {
 public:
  explicit Fields(std::span<const uint8_t> head) : head_(head) {}
  uint32_t u16(size_t at) const { return little_endian(head_.subspan(at, 2)); }
  uint32_t u32(size_t at) const { return little_endian(head_.subspan(at, 4)); }

 private:
  std::span<const uint8_t> head_;
};

// The three masks stand in the longer headers, or behind the shortest; none means 8 bits each.
Result<void> read_masks(std::span<const uint8_t> head, BmpLayout& layout) {
  constexpr size_t kMasksAt = kFileHeaderBytes + kInfoHeaderBytes;
  if (layout.bits < 16) return unsupported("BMP with bit fields in a palette");
  if (head.size() < kMasksAt + 12) return cut_in_header();
  for (size_t c = 0; c < 3; ++c) layout.masks[c] = Fields(head).u32(kMasksAt + 4 * c);
  bool is_blank = layout.masks[0] == 0 && layout.masks[1] == 0 && layout.masks[2] == 0;
  if (is_blank && layout.bits == 32) layout.masks = {0xFF0000, 0xFF00, 0xFF};
  for (uint32_t mask : layout.masks) {
    uint32_t low = mask & (~mask + 1);
    bool is_one_run = mask != 0 && (((mask / low) + 1) & (mask / low)) == 0;
    if (!is_one_run) return unsupported("BMP with scattered bit fields");
  }
  return {};
}

Result<void> read_coding(uint32_t compression, std::span<const uint8_t> head, BmpLayout& layout) {
  switch (compression) {
    case 0:
      return {};
    case 1:
    case 2:
      layout.coding = compression == 1 ? BmpCoding::Rle8 : BmpCoding::Rle4;
      if (layout.bits != (compression == 1 ? 8 : 4)) {
        return damaged("damaged BMP: run lengths of another pixel size");
      }
      return {};
    case 3:
      layout.coding = BmpCoding::Bitfields;
      return read_masks(head, layout);
    default:
      return unsupported(fmt::format("BMP with compression {}", compression));
  }
}

// Behind the headers, and before the pixels even where the file says otherwise.
Result<void> place_palette(uint32_t header_bytes, uint32_t colours, BmpLayout& layout) {
  constexpr uint32_t kMaxColours = 65536;
  layout.palette_offset = kFileHeaderBytes + header_bytes;
  layout.palette_stride = header_bytes == kCoreHeaderBytes ? 3 : 4;
  if (colours == 0) colours = 1U << layout.bits;
  if (colours > kMaxColours) return damaged("damaged BMP: a palette of impossible size");
  uint64_t end = layout.palette_offset + uint64_t(colours) * uint64_t(layout.palette_stride);
  if (layout.pixel_offset == layout.palette_offset) layout.pixel_offset = end;
  layout.palette_colours = int(std::min(colours, 256U));
  return {};
}

}  // namespace

uint64_t BmpLayout::pixel_end() const {
  uint64_t last_row = (uint64_t(width) * uint64_t(bits) + 7) / 8;
  return pixel_offset + row_bytes() * uint64_t(height - 1) + last_row;
}

Result<BmpLayout> read_bmp_layout(std::span<const uint8_t> head) {
  if (head.size() < kFileHeaderBytes + kCoreHeaderBytes) return cut_in_header();
  Fields fields(head);
  uint32_t header_bytes = fields.u32(14);
  if (!is_known_header(header_bytes)) {
    return unsupported(fmt::format("BMP with a header of {} bytes", header_bytes));
  }
  if (head.size() < kFileHeaderBytes + header_bytes) return cut_in_header();
  BmpLayout layout;
  layout.pixel_offset = fields.u32(10);
  bool is_core = header_bytes == kCoreHeaderBytes;
  int64_t width = is_core ? int32_t(fields.u16(18)) : int32_t(fields.u32(18));
  int64_t height = is_core ? int32_t(fields.u16(20)) : int32_t(fields.u32(22));
  layout.is_top_down = height < 0;
  if (auto refused = check_extents(width, std::abs(height))) return tl::make_unexpected(*refused);
  layout.width = int32_t(width);
  layout.height = int32_t(std::abs(height));
  layout.bits = int(is_core ? fields.u16(24) : fields.u16(28));
  constexpr int kDepths[] = {1, 4, 8, 16, 24, 32};
  if (std::find(std::begin(kDepths), std::end(kDepths), layout.bits) == std::end(kDepths)) {
    return unsupported(fmt::format("BMP with {} bits a pixel", layout.bits));
  }
  Result<void> done = read_coding(is_core ? 0 : fields.u32(30), head, layout);
  if (done && layout.bits <= 8) {
    done = place_palette(header_bytes, is_core ? 0 : fields.u32(46), layout);
  }
  if (!done) return tl::make_unexpected(done.error());
  if (layout.pixel_offset == 0) layout.pixel_offset = kFileHeaderBytes + header_bytes;
  return layout;
}

std::optional<Error> check_bmp_pixels(const BmpLayout& layout, uint64_t file_bytes) {
  bool has_runs = layout.coding == BmpCoding::Rle8 || layout.coding == BmpCoding::Rle4;
  uint64_t end = has_runs ? layout.pixel_offset + 1 : layout.pixel_end();
  if (file_bytes < end) return damaged("cut BMP: the file is shorter than its pixels").value();
  constexpr uint64_t kMostSkipped = uint64_t{4} << 20;
  constexpr uint64_t kMostPerByte = 128;  // a run of 255 pixels takes two
  uint64_t pixels = uint64_t(layout.width) * uint64_t(layout.height);
  if (!has_runs || pixels <= kMostSkipped) return std::nullopt;
  return check_capacity(ImageFormat::Bmp, layout.width, layout.height,
                        {pixels, file_bytes, kMostPerByte});
}

Result<ImageHeader> read_bmp_header(HeaderReader& reader) {
  Result<std::span<const uint8_t>> head = reader.bytes(0, kBmpHeadBytes);
  if (!head) return tl::make_unexpected(head.error());
  Result<BmpLayout> layout = read_bmp_layout(*head);
  if (!layout) return tl::make_unexpected(layout.error());
  if (auto refused = check_bmp_pixels(*layout, reader.size())) return tl::make_unexpected(*refused);
  return ImageHeader{ImageFormat::Bmp, layout->width, layout->height};
}

}  // namespace pounce
