// Nodes with an elementwise program: one launch of elementwise.k, for fused forms behind those of
// the plain op.
#include "ir/fused.h"

#include "backend/kernels/elementwise.h"
#include "backend/kernels/families.h"
#include "backend/kernels/program_text.h"
#include "backend/kernels/walk.h"
#include "backend/lowering.h"

namespace pounce::kernels {
namespace {

std::vector<Launch> launch_whole(const NodeContext& context) {
  return elementwise_launches(context, program_text(program_of(context.node)));
}

// Null: no kernel serves the plain node.
const Implementation* choose_plain(const NodeContext& plain) {
  return choose_implementation(implementations(plain.node.op), plain).entry;
}

std::optional<std::string> refuse_form(const NodeContext& context) {
  if (auto reason = refuse_f64(context)) return reason;
  Node plain = plain_node(context.node);
  if (choose_plain({context.graph, plain, context.target}) != nullptr) return std::nullopt;
  return "no kernel serves " + std::string(op_info(plain.op).name);
}

size_t workspace_bytes(const NodeContext& context) {
  Node plain = plain_node(context.node);
  NodeContext of_plain{context.graph, plain, context.target};
  const Implementation* chosen = choose_plain(of_plain);
  return chosen->workspace_bytes == nullptr ? 0 : chosen->workspace_bytes(of_plain);
}

// The program over output 0, where it begins.
Launch launch_program(const NodeContext& context) {
  const TensorType& type = context.output(0);
  ElementwiseOperand result{output(0), type, contiguous_strides(type.shape)};
  std::vector<ElementwiseOperand> operands = {result};
  size_t own = op_info(*plain_op(context.node.op)).inputs.size();
  for (size_t i = own; i < context.node.inputs.size(); ++i) {
    const TensorType& further = context.input(i);
    operands.push_back({input(i), further, broadcast_strides(type.shape, further.shape)});
  }
  return elementwise_launch(result, operands, program_text(program_of(context.node)));
}

std::vector<Launch> launch_form(const NodeContext& context) {
  Node plain = plain_node(context.node);
  NodeContext of_plain{context.graph, plain, context.target};
  std::vector<Launch> launches = choose_plain(of_plain)->launches(of_plain);
  launches.push_back(launch_program(context));
  return launches;
}

Row form_row(OpKind op) {
  return {op,
          {.name = "composed",
           .refuse = refuse_form,
           .workspace_bytes = workspace_bytes,
           .launches = launch_form}};
}

}  // namespace

std::vector<Row> fused_kernels() {
  return {{OpKind::Fused, {.name = "elementwise", .refuse = refuse_f64, .launches = launch_whole}},
          form_row(OpKind::Conv2dFused),
          form_row(OpKind::MatMulFused),
          form_row(OpKind::BatchNormFused),
          form_row(OpKind::BatchNormInferenceFused)};
}

}  // namespace pounce::kernels
