// Programs of elementwise ops in the kernel language.
#pragma once

#include <string>

#include "ir/program.h"

namespace pounce::kernels {

// Statements that make the float `y` of the floats x0, x1, ..., the program's operands: BODY of
// elementwise.k. The macro Y_TYPE names the tensors' type, to which every step rounds.
std::string program_text(const ElementwiseProgram& program);

}  // namespace pounce::kernels
