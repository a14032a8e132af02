// BMP, decoded here: no common library reads its run lengths and bit fields.
#include "data/bmp.h"

#include <algorithm>

#include "data/codecs.h"

namespace pounce {
namespace {

using Palette = std::array<std::array<uint8_t, 3>, 256>;

// Indices without a colour are levels of grey, as in Pillow.
Result<Palette> read_palette(std::span<const uint8_t> bytes, const BmpLayout& layout) {
  Palette palette;
  for (size_t i = 0; i < palette.size(); ++i) palette[i].fill(uint8_t(i));
  size_t stride = size_t(layout.palette_stride), at = size_t(layout.palette_offset);
  if (bytes.size() < at + stride * size_t(layout.palette_colours)) {
    return damaged("cut BMP: the file ends in its palette");
  }
  for (size_t i = 0; i < size_t(layout.palette_colours); ++i, at += stride) {
    palette[i] = {bytes[at + 2], bytes[at + 1], bytes[at]};
  }
  return palette;
}

// Pixels of 8, 4 or 1 bits, the leftmost in the highest.
void convert_palette_row(const uint8_t* row, const BmpLayout& layout, const Palette& palette,
                         uint8_t* out) {
  int bits = layout.bits, pixels_a_byte = 8 / bits, mask = (1 << bits) - 1;
  for (int x = 0; x < layout.width; ++x) {
    int shift = 8 - bits * (x % pixels_a_byte + 1);
    out = std::copy_n(palette[size_t(row[x / pixels_a_byte] >> shift & mask)].data(), 3, out);
  }
}

// Blue, green, red, and at 32 bits one more.
void convert_bgr_row(const uint8_t* row, const BmpLayout& layout, uint8_t* out) {
  int stride = layout.bits / 8;
  for (int x = 0; x < layout.width; ++x, row += stride, out += 3) {
    out[0] = row[2];
    out[1] = row[1];
    out[2] = row[0];
  }
}

// A run of bits to 0..255; rounded down, as in Pillow.
uint8_t field_of(uint32_t pixel, uint32_t mask) {
  uint32_t low = mask & (~mask + 1);
  return uint8_t(uint64_t((pixel & mask) / low) * 255 / (mask / low));
}

void convert_field_row(const uint8_t* row, const BmpLayout& layout,
                       const std::array<uint32_t, 3>& masks, uint8_t* out) {
  size_t stride = size_t(layout.bits / 8);
  for (int x = 0; x < layout.width; ++x, row += stride) {
    uint32_t pixel = 0;
    for (size_t i = 0; i < stride; ++i) pixel |= uint32_t(row[i]) << (8 * i);
    for (uint32_t mask : masks) *out++ = field_of(pixel, mask);
  }
}

Result<void> read_rows(std::span<const uint8_t> bytes, const BmpLayout& layout,
                       const Palette& palette, Image& image) {
  if (bytes.size() < layout.pixel_end()) {
    return damaged("cut BMP: the file is shorter than its pixels");
  }
  // Without bit fields 16 bits are five each.
  bool has_fields = layout.coding == BmpCoding::Bitfields;
  std::array<uint32_t, 3> masks = {0x7C00, 0x3E0, 0x1F};
  if (has_fields) masks = layout.masks;
  size_t row_bytes = size_t(layout.width) * 3;
  for (int y = 0; y < layout.height; ++y) {
    const uint8_t* row = bytes.data() + layout.pixel_offset + uint64_t(y) * layout.row_bytes();
    int place = layout.is_top_down ? y : layout.height - 1 - y;
    uint8_t* out = image.rgb.data() + size_t(place) * row_bytes;
    if (layout.bits <= 8) {
      convert_palette_row(row, layout, palette, out);
    } else if (has_fields || layout.bits == 16) {
      convert_field_row(row, layout, masks, out);
    } else {
      convert_bgr_row(row, layout, out);
    }
  }
  return {};
}

// Run lengths: pairs of a count and a value; a count of 0 leads to an escape. Pixels that are
// skipped are those of index 0. Source: "Bitmap Compression" of the Windows SDK.
class RunReader {
 public:
  RunReader(std::span<const uint8_t> runs, const BmpLayout& layout, const Palette& palette,
            Image& image)
      : runs_(runs), layout_(layout), palette_(palette), image_(image) {}

  Result<void> read() {
    fill_with_first_colour();
    while (y_ < layout_.height && !has_ended_) {
      if (runs_.size() < 2) return is_full() ? Result<void>() : cut();
      uint8_t count = runs_[0], value = runs_[1];
      runs_ = runs_.subspan(2);
      if (count > 0) {
        put_run(count, value);
      } else if (!escape(value)) {
        return cut();
      }
    }
    return {};
  }

 private:
  enum Escape : uint8_t { EndOfLine = 0, EndOfBitmap = 1, Delta = 2 };

  static Result<void> cut() { return damaged("cut BMP: its run lengths end too early"); }
  bool is_four_bits() const { return layout_.coding == BmpCoding::Rle4; }
  bool is_full() const { return y_ == layout_.height - 1 && x_ >= layout_.width; }

  void fill_with_first_colour() {
    for (size_t i = 0; i < image_.rgb.size(); i += 3) {
      std::copy_n(palette_[0].data(), 3, &image_.rgb[i]);
    }
  }

  // Pixels beyond the row's end are dropped.
  void put(uint8_t index) {
    if (x_ < layout_.width && y_ < layout_.height) {
      int place = layout_.is_top_down ? y_ : layout_.height - 1 - y_;
      size_t at = size_t(place) * size_t(layout_.width) + size_t(x_);
      std::copy_n(palette_[index].data(), 3, &image_.rgb[3 * at]);
    }
    ++x_;
  }

  uint8_t half(uint8_t byte, int i) const { return i % 2 == 0 ? byte >> 4 : byte & 15; }

  void put_run(int count, uint8_t value) {
    for (int i = 0; i < count; ++i) put(is_four_bits() ? half(value, i) : value);
  }

  // False where the file ends.
  bool escape(uint8_t value) {
    switch (value) {
      case EndOfLine:
        x_ = 0;
        ++y_;
        return true;
      case EndOfBitmap:
        has_ended_ = true;
        return true;
      case Delta:
        if (runs_.size() < 2) return false;
        x_ += runs_[0];
        y_ += runs_[1];
        runs_ = runs_.subspan(2);
        return true;
      default:
        return put_literal(value);
    }
  }

  // `count` pixels as they are, padded to an even number of bytes.
  bool put_literal(int count) {
    size_t bytes = is_four_bits() ? size_t(count + 1) / 2 : size_t(count);
    if (runs_.size() < bytes) return false;
    for (int i = 0; i < count; ++i) {
      put(is_four_bits() ? half(runs_[size_t(i / 2)], i) : runs_[size_t(i)]);
    }
    runs_ = runs_.subspan(std::min(runs_.size(), bytes + bytes % 2));
    return true;
  }

  std::span<const uint8_t> runs_;
  const BmpLayout& layout_;
  const Palette& palette_;
  Image& image_;
  int x_ = 0, y_ = 0;
  bool has_ended_ = false;
};

}  // namespace

Result<void> decode_bmp(std::span<const uint8_t> bytes, Image& image, const DecodeRule&) {
  Result<BmpLayout> layout = read_bmp_layout(bytes.first(std::min(bytes.size(), kBmpHeadBytes)));
  if (!layout) return tl::make_unexpected(layout.error());
  Palette palette{};
  if (layout->bits <= 8) {
    Result<Palette> found = read_palette(bytes, *layout);
    if (!found) return tl::make_unexpected(found.error());
    palette = *found;
  }
  if (auto refused = check_bmp_pixels(*layout, bytes.size())) return tl::make_unexpected(*refused);
  image.width = layout->width;
  image.height = layout->height;
  image.rgb.resize(size_t(image.width) * size_t(image.height) * 3);
  bool has_runs = layout->coding == BmpCoding::Rle8 || layout->coding == BmpCoding::Rle4;
  if (!has_runs) return read_rows(bytes, *layout, palette, image);
  return RunReader(bytes.subspan(size_t(layout->pixel_offset)), *layout, palette, image).read();
}

}  // namespace pounce
