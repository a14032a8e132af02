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

uint16_t half_from_float(float value) {
  constexpr uint32_t kInfinity = 0x7F800000;
  constexpr uint32_t kOverflow = 0x477FF000;  // 65520: half a step beyond the largest half
  constexpr uint32_t kNormal = 0x38800000;    // 2^-14: the smallest normal half
  constexpr uint32_t kOffset = 0x38000000;    // (127 - 15) << 23
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint32_t sign = bits >> 16 & 0x8000, rest = bits & 0x7FFFFFFF;
  if (rest > kInfinity) return uint16_t(sign | 0x7E00 | (rest >> 13 & 0x3FF));
  if (rest >= kOverflow) return uint16_t(sign | 0x7C00);
  if (rest < kNormal) {
    // The last bit of a float in [0.5, 1) is worth 2^-24, as that of a subnormal half.
    constexpr float kShift = 0.5f;
    float shifted = std::bit_cast<float>(rest) + kShift;
    return uint16_t(sign | (std::bit_cast<uint32_t>(shifted) - std::bit_cast<uint32_t>(kShift)));
  }
  uint32_t odd = rest >> 13 & 1;
  return uint16_t(sign | (rest - kOffset + 0xFFF + odd) >> 13);
}

uint16_t bfloat16_from_float(float value) {
  constexpr uint32_t kInfinity = 0x7F800000;
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7FFFFFFF) > kInfinity) return uint16_t(bits >> 16 | 0x40);
  uint32_t odd = bits >> 16 & 1;
  return uint16_t((bits + 0x7FFF + odd) >> 16);
}

}  // namespace pounce
