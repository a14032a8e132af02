// From the samples of a TIFF, as its strips and tiles pack them, to RGB. Internal to src/data.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "data/decode.h"

namespace pounce {

enum class TiffColours { WhiteIsZero, BlackIsZero, Rgb, Palette, Cmyk };

struct TiffPixels {
  TiffColours colours = TiffColours::BlackIsZero;
  int bits = 8;     // a sample: 1, 2, 4, 8, 12 (most significant first) or 16 (as this machine's)
  int samples = 1;  // a pixel, with those that are no colours
  bool is_premultiplied = false;                // the sample behind the colours is alpha
  std::vector<std::array<uint8_t, 3>> palette;  // 1 << bits colours

  int colour_samples() const;
  // Those that the conversion needs.
  int needed_samples() const { return colour_samples() + (is_premultiplied ? 1 : 0); }
};

// Writes one image, whose extents and memory are given, run by run of a row.
class TiffPixelWriter {
 public:
  TiffPixelWriter(const TiffPixels& pixels, Image& image) : pixels_(pixels), image_(image) {}

  // `count` pixels from (x, y) on, all their samples side by side.
  void put(int x, int y, int count, const uint8_t* packed);
  // The same for one sample of each pixel; samples that are not needed are passed over.
  void put_plane(int plane, int x, int y, int count, const uint8_t* packed);
  // After the last plane.
  void join_planes();

 private:
  uint32_t sample(const uint8_t* packed, size_t index) const;
  uint8_t level(uint32_t sample) const;
  void convert(const uint8_t* levels, uint8_t* rgb) const;

  const TiffPixels& pixels_;
  Image& image_;
  std::vector<uint8_t> planes_;  // [height, width, needed samples], when they come apart
};

}  // namespace pounce
