// Launches of elementwise.k: any expression over tensors that repeat or are permuted.
#pragma once

#include <string>
#include <vector>

#include "backend/kernels/launch.h"

namespace pounce::kernels {

// elementwise.k has no more.
inline constexpr size_t kMostElementwiseInputs = 8;

struct ElementwiseOperand {
  Operand operand;
  TensorType type;
  std::vector<int64_t> strides;  // of the result's axes, in elements; 0 where it repeats
};

// result = body, C statements that make the float `y` of the floats `x0`, `x1`, ..., the operands'
// elements. The result may lie over an operand that is as large and not permuted.
Launch elementwise_launch(const ElementwiseOperand& result,
                          const std::vector<ElementwiseOperand>& operands, std::string body);

// The same for a node whose inputs all broadcast to its output 0.
std::vector<Launch> elementwise_launches(const NodeContext& context, std::string body);

}  // namespace pounce::kernels
