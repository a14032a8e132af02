#include "data/av1_sequence.h"

#include <algorithm>

namespace pounce {
namespace {

// Bits, the most significant first; 0 beyond the end, which is remembered.
class BitReader {
 public:
  explicit BitReader(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  uint32_t read(int bits) {
    uint32_t value = 0;
    for (int i = 0; i < bits; ++i, ++at_) {
      bool is_inside = at_ / 8 < bytes_.size();
      is_beyond_end_ = is_beyond_end_ || !is_inside;
      uint32_t bit = is_inside ? bytes_[at_ / 8] >> (7 - at_ % 8) & 1U : 0;
      value = value << 1 | bit;
    }
    return value;
  }
  bool is_beyond_end() const { return is_beyond_end_; }

 private:
  std::span<const uint8_t> bytes_;
  size_t at_ = 0;
  bool is_beyond_end_ = false;
};

// Up to the extents; false where timing information stands before them.
bool skip_operating_points(BitReader& bits) {
  if (bits.read(1)) return false;  // timing information
  bool has_delays = bits.read(1);
  uint32_t points = bits.read(5) + 1;
  for (uint32_t i = 0; i < points; ++i) {
    bits.read(12);
    constexpr uint32_t kLastLevelWithoutTier = 7;
    if (bits.read(5) > kLastLevelWithoutTier) bits.read(1);
    if (has_delays && bits.read(1)) bits.read(4);
  }
  return true;
}

std::optional<Av1Extents> read_sequence(std::span<const uint8_t> header) {
  BitReader bits(header);
  bits.read(3);  // profile
  bits.read(1);  // a still picture
  bool is_reduced = bits.read(1);
  if (is_reduced) bits.read(5);  // level
  if (!is_reduced && !skip_operating_points(bits)) return std::nullopt;
  int width_bits = int(bits.read(4)) + 1, height_bits = int(bits.read(4)) + 1;
  Av1Extents extents;
  extents.width = int64_t(bits.read(width_bits)) + 1;
  extents.height = int64_t(bits.read(height_bits)) + 1;
  if (bits.is_beyond_end()) return std::nullopt;
  return extents;
}

}  // namespace

std::optional<Av1Extents> av1_extents(std::span<const uint8_t> stream) {
  constexpr int kSequenceHeader = 1;
  while (!stream.empty()) {
    int type = stream[0] >> 3 & 15;
    bool has_extension = stream[0] & 4, has_size = stream[0] & 2;
    stream = stream.subspan(std::min<size_t>(stream.size(), has_extension ? 2 : 1));
    uint64_t size = has_size ? 0 : stream.size();
    bool has_more = has_size;
    for (int shift = 0; has_more && shift < 35; shift += 7) {
      if (stream.empty()) return std::nullopt;
      size |= uint64_t(stream[0] & 127) << shift;
      has_more = stream[0] & 128;
      stream = stream.subspan(1);
    }
    if (has_more || size > stream.size()) return std::nullopt;
    if (type == kSequenceHeader) return read_sequence(stream.first(size_t(size)));
    stream = stream.subspan(size_t(size));
  }
  return std::nullopt;
}

}  // namespace pounce
