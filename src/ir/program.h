// Several elementwise ops as one text, the attribute `program` of nodes that hold them: in
// "add(0,1); relu(2)" operands 0 and 1 are the node's, 2 is what the first step makes, and the last
// step makes the result. Every step rounds to the tensors' type, as separate nodes would: a node
// gives the bits of the nodes it stands for. Formulas are those of elementwise.def.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace pounce {

// Bounds for what kernels keep at hand.
inline constexpr int kMostProgramOperands = 8;
inline constexpr int kMostProgramSteps = 16;

struct ProgramStep {
  OpKind op;
  int a = 0, b = 0;  // operand or earlier step; b equals a where the op has one input

  bool operator==(const ProgramStep&) const = default;
};

struct ElementwiseProgram {
  int operands = 0;
  std::vector<ProgramStep> steps;

  bool operator==(const ElementwiseProgram&) const = default;
};

// Whether a step may be of this op.
bool is_elementwise(OpKind op);

std::string to_string(const ElementwiseProgram& program);

// Throws InvalidArgument quoting what is wrong: an op that is not elementwise, a number that names
// nothing before it, an operand or a step that nothing uses, too many of either.
ElementwiseProgram parse_program(std::string_view text, int operands);

// The result's type by the ops' own rules. Throws InvalidArgument naming the step.
TensorType infer_program(const ElementwiseProgram& program, std::span<const TensorType> operands);

}  // namespace pounce
