// The orientation tag and what it asks for.
#include <algorithm>
#include <utility>
#include <vector>

#include "data/codecs.h"

namespace pounce {
namespace {

class TiffReader {
 public:
  explicit TiffReader(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  // "II" or "MM", then 42.
  bool read_header() {
    if (bytes_.size() < 8 || bytes_[0] != bytes_[1]) return false;
    if (bytes_[0] != 'I' && bytes_[0] != 'M') return false;
    is_big_endian_ = bytes_[0] == 'M';
    return u16(2) == 42;
  }

  // 0 beyond the end, which no caller takes for a valid value.
  uint32_t u16(size_t at) const { return number(at, 2); }
  uint32_t u32(size_t at) const { return number(at, 4); }

 private:
  uint32_t number(size_t at, size_t n) const {
    if (at > bytes_.size() || bytes_.size() - at < n) return 0;
    uint32_t value = 0;
    for (size_t i = 0; i < n; ++i) {
      value = value << 8 | bytes_[at + (is_big_endian_ ? i : n - 1 - i)];
    }
    return value;
  }

  std::span<const uint8_t> bytes_;
  bool is_big_endian_ = false;
};

struct Steps {
  // source = start + x * right + y * down, counted in pixels.
  int64_t start, right, down;
};

Steps steps_for(int orientation, int64_t width, int64_t height) {
  int64_t last = width * height - 1;
  switch (orientation) {
    case 2:
      return {width - 1, -1, width};
    case 3:
      return {last, -1, -width};
    case 4:
      return {last - width + 1, 1, -width};
    case 5:
      return {0, width, 1};
    case 6:
      return {last - width + 1, -width, 1};
    case 7:
      return {last, -width, -1};
    case 8:
      return {width - 1, width, -1};
    default:
      return {0, 1, width};
  }
}

}  // namespace

std::span<const uint8_t> without_exif_prefix(std::span<const uint8_t> block) {
  constexpr uint8_t kPrefix[] = {'E', 'x', 'i', 'f', 0, 0};
  bool has_prefix = block.size() >= sizeof kPrefix &&
                    std::equal(std::begin(kPrefix), std::end(kPrefix), block.begin());
  return has_prefix ? block.subspan(sizeof kPrefix) : block;
}

int exif_orientation(std::span<const uint8_t> tiff) {
  constexpr uint32_t kOrientationTag = 0x0112, kShort = 3, kLong = 4;
  TiffReader reader(tiff);
  if (!reader.read_header()) return 1;
  size_t directory = reader.u32(4);
  uint32_t entries = reader.u16(directory);
  for (uint32_t i = 0; i < entries; ++i) {
    size_t entry = directory + 2 + size_t(i) * 12;
    if (reader.u16(entry) != kOrientationTag) continue;
    // Some writers use the longer type, which Pillow reads as well.
    uint32_t type = reader.u16(entry + 2), value = 0;
    if (type == kShort) value = reader.u16(entry + 8);
    if (type == kLong && reader.u32(entry + 4) == 1) value = reader.u32(entry + 8);
    return value >= 1 && value <= 8 ? int(value) : 1;
  }
  return 1;
}

void apply_orientation(Image& image, int orientation) {
  if (orientation <= 1 || orientation > 8) return;
  Steps steps = steps_for(orientation, image.width, image.height);
  int width = image.width, height = image.height;
  if (orientation >= 5) std::swap(width, height);
  std::vector<uint8_t> upright(image.rgb.size());
  uint8_t* out = upright.data();
  for (int64_t y = 0; y < height; ++y) {
    const uint8_t* source = image.rgb.data() + 3 * (steps.start + y * steps.down);
    for (int x = 0; x < width; ++x, out += 3) {
      std::copy_n(source + 3 * x * steps.right, 3, out);
    }
  }
  image.width = width;
  image.height = height;
  image.rgb.swap(upright);
}

}  // namespace pounce
