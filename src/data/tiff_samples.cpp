#include "data/tiff_samples.h"

#include <algorithm>
#include <cstring>

namespace pounce {
namespace {

// Source: Pillow's Convert.c, cmyk2rgb; 255 is full ink.
void convert_cmyk(const uint8_t* cmyk, uint8_t* rgb) {
  int white = 255 - cmyk[3];
  for (int c = 0; c < 3; ++c) {
    int product = cmyk[c] * white + 128;
    int ink = ((product >> 8) + product) >> 8;
    rgb[c] = uint8_t(std::max(white - ink, 0));
  }
}

// Alpha is dropped, so the colours must be those before they were multiplied.
void undo_premultiplication(uint8_t* rgb, int alpha) {
  if (alpha == 0) return;
  for (int c = 0; c < 3; ++c) rgb[c] = uint8_t(std::min(255 * rgb[c] / alpha, 255));
}

}  // namespace

int TiffPixels::colour_samples() const {
  if (colours == TiffColours::Rgb) return 3;
  return colours == TiffColours::Cmyk ? 4 : 1;
}

uint32_t TiffPixelWriter::sample(const uint8_t* packed, size_t index) const {
  switch (pixels_.bits) {
    case 8:
      return packed[index];
    case 16: {
      uint16_t value;
      std::memcpy(&value, packed + 2 * index, sizeof value);
      return value;
    }
    case 12: {
      const uint8_t* at = packed + index * 3 / 2;
      return index % 2 == 0 ? uint32_t(at[0] << 4 | at[1] >> 4)
                            : uint32_t((at[0] & 15) << 8 | at[1]);
    }
    default: {
      size_t bits = size_t(pixels_.bits), first = index * bits;
      return uint32_t(packed[first / 8] >> (8 - bits - first % 8)) & ((1U << bits) - 1);
    }
  }
}

// The nearest of 256, with the ends at 0 and 255; an index stays what it is.
uint8_t TiffPixelWriter::level(uint32_t sample) const {
  if (pixels_.bits == 8 || pixels_.colours == TiffColours::Palette) return uint8_t(sample);
  uint32_t most = (1U << pixels_.bits) - 1;
  return uint8_t((sample * 255 + most / 2) / most);
}

void TiffPixelWriter::convert(const uint8_t* levels, uint8_t* rgb) const {
  switch (pixels_.colours) {
    case TiffColours::WhiteIsZero:
      std::fill_n(rgb, 3, uint8_t(255 - levels[0]));
      break;
    case TiffColours::BlackIsZero:
      std::fill_n(rgb, 3, levels[0]);
      break;
    case TiffColours::Rgb:
      std::copy_n(levels, 3, rgb);
      break;
    case TiffColours::Palette:
      std::copy_n(pixels_.palette[levels[0]].data(), 3, rgb);
      break;
    case TiffColours::Cmyk:
      convert_cmyk(levels, rgb);
      break;
  }
  if (pixels_.is_premultiplied) undo_premultiplication(rgb, levels[pixels_.colour_samples()]);
}

void TiffPixelWriter::put(int x, int y, int count, const uint8_t* packed) {
  uint8_t* rgb = image_.rgb.data() + 3 * (size_t(y) * size_t(image_.width) + size_t(x));
  size_t needed = size_t(pixels_.needed_samples()), samples = size_t(pixels_.samples);
  std::array<uint8_t, 5> levels{};
  for (size_t i = 0; i < size_t(count); ++i, rgb += 3) {
    for (size_t s = 0; s < needed; ++s) levels[s] = level(sample(packed, i * samples + s));
    convert(levels.data(), rgb);
  }
}

void TiffPixelWriter::put_plane(int plane, int x, int y, int count, const uint8_t* packed) {
  size_t needed = size_t(pixels_.needed_samples());
  if (size_t(plane) >= needed) return;
  planes_.resize(size_t(image_.width) * size_t(image_.height) * needed);
  size_t first = size_t(y) * size_t(image_.width) + size_t(x);
  uint8_t* out = planes_.data() + first * needed + size_t(plane);
  for (size_t i = 0; i < size_t(count); ++i) out[i * needed] = level(sample(packed, i));
}

void TiffPixelWriter::join_planes() {
  size_t needed = size_t(pixels_.needed_samples());
  for (size_t i = 0; i < planes_.size() / needed; ++i) {
    convert(&planes_[i * needed], &image_.rgb[3 * i]);
  }
}

}  // namespace pounce
