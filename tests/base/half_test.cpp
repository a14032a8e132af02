#include "base/half.h"

#include <cmath>

#include <gtest/gtest.h>

namespace pounce {
namespace {

// By the definition: sign, exponent, fraction.
double value_of(int sign, int exponent, int fraction, int fraction_bits, int offset) {
  double part = std::ldexp(double(fraction), -fraction_bits);
  double magnitude =
      exponent == 0 ? std::ldexp(part, 1 - offset) : std::ldexp(1 + part, exponent - offset);
  return sign != 0 ? -magnitude : magnitude;
}

TEST(Half, EveryValueIsExact) {
  for (int bits = 0; bits < 0x10000; ++bits) {
    int sign = bits >> 15, exponent = (bits >> 10) & 31, fraction = bits & 1023;
    float value = float_from_half(uint16_t(bits));
    EXPECT_EQ(std::signbit(value), sign != 0) << bits;
    if (exponent == 31) {
      EXPECT_EQ(std::isnan(value), fraction != 0) << bits;
      EXPECT_EQ(std::isinf(value), fraction == 0) << bits;
    } else {
      EXPECT_EQ(double(value), value_of(sign, exponent, fraction, 10, 15)) << bits;
    }
  }
}

TEST(Bfloat16, IsTheUpperHalfOfAFloat) {
  for (int bits = 0; bits < 0x10000; ++bits) {
    int sign = bits >> 15, exponent = (bits >> 7) & 255, fraction = bits & 127;
    float value = float_from_bfloat16(uint16_t(bits));
    if (exponent == 255) {
      EXPECT_FALSE(std::isfinite(value)) << bits;
    } else {
      EXPECT_EQ(double(value), value_of(sign, exponent, fraction, 7, 127)) << bits;
    }
  }
}

}  // namespace
}  // namespace pounce
