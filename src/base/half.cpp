#include "base/half.h"

#include <bit>

namespace pounce {

float float_from_half(uint16_t bits) {
  constexpr uint32_t kExponent = 0x7C00, kFloatExponent = 0x7F800000;
  uint32_t sign = uint32_t(bits & 0x8000) << 16;
  uint32_t rest = uint32_t(bits & 0x7FFF) << 13;
  if ((bits & kExponent) == kExponent) return std::bit_cast<float>(sign | kFloatExponent | rest);
  // The exponents' offsets differ by 127 - 15; the product is exact for subnormals, too.
  float magnitude = std::bit_cast<float>(rest) * 0x1p112f;
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(magnitude));
}

float float_from_bfloat16(uint16_t bits) {
  return std::bit_cast<float>(uint32_t(bits) << 16);
}

}  // namespace pounce
