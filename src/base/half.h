// The two 16-bit float forms and float32: every value of either has an exact float32; the way back
// rounds to the nearest, ties to even.
#pragma once

#include <cstdint>

namespace pounce {

// IEEE 754 binary16: subnormals, infinities and NaN included.
float float_from_half(uint16_t bits);
// bfloat16: the upper half of a float32.
float float_from_bfloat16(uint16_t bits);

// From 65520 on to infinity; below 2^-25, and that itself, to zero. NaN stays NaN, and quiet.
uint16_t half_from_float(float value);
// The same for bfloat16, whose range is float32's but for the last half step.
uint16_t bfloat16_from_float(float value);

}  // namespace pounce
