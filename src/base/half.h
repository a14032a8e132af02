// The two 16-bit float forms as float32: every value of either has an exact one.
#pragma once

#include <cstdint>

namespace pounce {

// IEEE 754 binary16: subnormals, infinities and NaN included.
float float_from_half(uint16_t bits);
// bfloat16: the upper half of a float32.
float float_from_bfloat16(uint16_t bits);

}  // namespace pounce
