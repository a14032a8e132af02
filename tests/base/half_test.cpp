#include "base/half.h"

#include <bit>
#include <cmath>
#include <limits>

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

struct Form {
  const char* name;
  uint16_t (*round)(float);
  float (*widen)(uint16_t);
  uint16_t infinity;  // one step beyond the largest number
};

constexpr Form kForms[] = {{"half", half_from_float, float_from_half, 0x7C00},
                           {"bfloat16", bfloat16_from_float, float_from_bfloat16, 0x7F80}};

TEST(Rounding, GivesEveryValueBack) {
  for (const Form& form : kForms) {
    for (int bits = 0; bits < 0x10000; ++bits) {
      float value = form.widen(uint16_t(bits));
      uint16_t back = form.round(value);
      if (std::isnan(value)) {
        EXPECT_TRUE(std::isnan(form.widen(back))) << form.name << " " << bits;
      } else {
        EXPECT_EQ(back, bits) << form.name;
      }
    }
  }
}

// Between any two neighbours: the middle goes to the even one, all else to the nearer one. The
// step beyond the largest number counts as one, and rounds to infinity.
TEST(Rounding, IsToTheNearestAndToEven) {
  for (const Form& form : kForms) {
    for (uint16_t bits = 0; bits < form.infinity; ++bits) {
      double low = double(form.widen(bits));
      double high = bits + 1 < form.infinity ? double(form.widen(uint16_t(bits + 1)))
                                             : 2 * low - double(form.widen(uint16_t(bits - 1)));
      float middle = float((low + high) / 2);
      if (double(middle) != (low + high) / 2) continue;  // below the smallest float
      uint16_t even = bits % 2 == 0 ? bits : uint16_t(bits + 1);
      float below = std::nextafter(middle, 0.0f), above = std::nextafter(middle, HUGE_VALF);
      EXPECT_EQ(form.round(middle), even) << form.name << " " << bits;
      EXPECT_EQ(form.round(below), bits) << form.name << " " << bits;
      EXPECT_EQ(form.round(above), bits + 1) << form.name << " " << bits;
      EXPECT_EQ(form.round(-middle), even | 0x8000) << form.name << " " << bits;
    }
  }
}

TEST(Rounding, KnowsItsEnds) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(half_from_float(65504), 0x7BFF);
  EXPECT_EQ(half_from_float(65519.996f), 0x7BFF);
  EXPECT_EQ(half_from_float(65520), 0x7C00);
  EXPECT_EQ(half_from_float(-1e30f), 0xFC00);
  EXPECT_EQ(half_from_float(0x1p-24f), 0x0001);
  EXPECT_EQ(half_from_float(0x1p-25f), 0x0000);
  EXPECT_EQ(half_from_float(-0x1p-26f), 0x8000);
  EXPECT_EQ(half_from_float(std::numeric_limits<float>::denorm_min()), 0x0000);
  EXPECT_EQ(bfloat16_from_float(std::numeric_limits<float>::max()), 0x7F80);
  EXPECT_EQ(bfloat16_from_float(std::numeric_limits<float>::denorm_min()), 0x0000);
  for (const Form& form : kForms) {
    EXPECT_EQ(form.round(kInfinity), form.infinity) << form.name;
    EXPECT_EQ(form.round(-kInfinity), form.infinity | 0x8000) << form.name;
    // A NaN whose fraction lies in the bits that are dropped must not become an infinity.
    for (uint32_t bits : {0x7F800001u, 0x7FC00000u, 0xFF800001u, 0xFFFFFFFFu}) {
      float rounded = form.widen(form.round(std::bit_cast<float>(bits)));
      EXPECT_TRUE(std::isnan(rounded)) << form.name;
      EXPECT_EQ(std::signbit(rounded), bits >> 31 != 0) << form.name;
    }
  }
}

}  // namespace
}  // namespace pounce
