// Adding up the parts of a result that one launch left behind.
#pragma once

#include "backend/kernels/launch.h"

namespace pounce::kernels {

// to[i] = sum over `parts` of from[part][i], in order, both f32 in memory but for `to`'s type.
Launch sum_parts(Operand from, int64_t parts, int64_t results, Operand to, DType dtype);

}  // namespace pounce::kernels
