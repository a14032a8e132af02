#include "ir/fused.h"

#include "base/error.h"

namespace pounce {
namespace {

struct FusedForm {
  OpKind op, plain;
};

constexpr FusedForm kForms[] = {
    {OpKind::Conv2dFused, OpKind::Conv2d},
    {OpKind::MatMulFused, OpKind::MatMul},
    {OpKind::BatchNormFused, OpKind::BatchNorm},
    {OpKind::BatchNormInferenceFused, OpKind::BatchNormInference},
};

}  // namespace

bool has_program(OpKind op) {
  return op == OpKind::Fused || plain_op(op);
}

std::optional<OpKind> plain_op(OpKind op) {
  for (const FusedForm& form : kForms) {
    if (form.op == op) return form.plain;
  }
  return std::nullopt;
}

std::optional<OpKind> fused_form_of(OpKind plain) {
  for (const FusedForm& form : kForms) {
    if (form.plain == plain) return form.op;
  }
  return std::nullopt;
}

Node plain_node(const Node& node) {
  const OpInfo& info = op_info(plain_op(node.op).value());
  Node plain{info.kind, node.name, node.inputs, {}, node.outputs};
  plain.inputs.resize(info.inputs.size());
  for (const AttributeInfo& row : info.attributes) {
    plain.attributes.set(std::string(row.name), *node.attributes.find(row.name));
  }
  return plain;
}

ElementwiseProgram program_of(const Node& node) {
  return parse_program(node.attributes.text("program"), int(program_operands(node).size()));
}

std::vector<Value> program_operands(const Node& node) {
  POUNCE_ASSERT(has_program(node.op));
  if (node.op == OpKind::Fused) return node.inputs;
  std::vector<Value> operands = {node.outputs[0]};
  size_t own = op_info(*plain_op(node.op)).inputs.size();
  operands.insert(operands.end(), node.inputs.begin() + ptrdiff_t(own), node.inputs.end());
  return operands;
}

}  // namespace pounce
