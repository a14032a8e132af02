// Ops that hold a program of elementwise ops (ir/program.h): `fused`, which is nothing else, and
// the fused forms of other ops, whose program continues from their first output. A fused form has
// the inputs and attributes of its plain op, then the program's further operands: operand 0 is the
// output that the program begins with.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "ir/graph.h"
#include "ir/program.h"

namespace pounce {

// Whether nodes of this op have a program.
bool has_program(OpKind op);
// The op whose fused form this is; nothing for `fused` and ops without a program.
std::optional<OpKind> plain_op(OpKind op);
// The fused form of `plain`, if there is one.
std::optional<OpKind> fused_form_of(OpKind plain);

// The node without its program and the program's further operands. Of fused forms only; what the
// result reads and writes has the types of the node's own.
Node plain_node(const Node& node);

ElementwiseProgram program_of(const Node& node);
// The graph's values behind the program's operands.
std::vector<Value> program_operands(const Node& node);

}  // namespace pounce
