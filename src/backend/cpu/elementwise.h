// The loops over elementwise.def's formulas, for kernels that run several over memory at hand.
#pragma once

#include <cstdint>

#include "ir/op.h"

namespace pounce::cpu {

// A run of elements, through which either operand of arithmetic that broadcasts may stand still.
// Formulas of one input ignore b.
struct Operands {
  const float *a, *b;
  bool repeat_a = false, repeat_b = false;
};

// The output may be an operand, element for element.
using ElementwiseLoop = void (*)(const Operands&, float* ys, int64_t count);

// Of an elementwise op.
ElementwiseLoop elementwise_loop(OpKind op);

}  // namespace pounce::cpu
