#include "ir/fused.h"

#include "ir/ops/families.h"

namespace pounce {
namespace {

std::vector<TensorType> infer_fused(const InferInput& in) {
  for (const TensorType& type : in.inputs) expect_floating(type, "an input");
  ElementwiseProgram program = parse_program(in.attributes.text("program"), int(in.inputs.size()));
  return {infer_program(program, in.inputs)};
}

// What the plain op makes of its inputs and attributes, and that the program keeps the type of the
// tensor it begins with.
template <OpKind kOp>
std::vector<TensorType> infer_form(const InferInput& in) {
  const OpInfo& plain = op_info(*plain_op(kOp));
  size_t own = plain.inputs.size();
  std::vector<TensorType> outputs = plain.infer({in.inputs.first(own), in.attributes});
  std::vector<TensorType> operands = {outputs[0]};
  operands.insert(operands.end(), in.inputs.begin() + ptrdiff_t(own), in.inputs.end());
  const std::string& text = in.attributes.text("program");
  TensorType result = infer_program(parse_program(text, int(operands.size())), operands);
  if (result != outputs[0]) {
    fail(ErrorKind::InvalidArgument, "program \"{}\" makes {} of {}, expected the same type", text,
         to_string(result), to_string(outputs[0]));
  }
  return outputs;
}

double plain_flops(const Graph& graph, const Node& node) {
  Node plain = plain_node(node);
  return op_info(plain.op).flops(graph, plain);
}

// `plain` is a row that has its place in the table; its aliases hold for the fused form as well:
// every element is written after the program has read it.
template <OpKind kOp>
OpInfo fused_row(const OpInfo& plain, std::string_view name) {
  OpInfo info = plain;
  info.kind = kOp;
  info.name = name;
  info.inputs.push_back("operand");
  info.attributes.push_back({"program", AttributeType::Text, {}});
  info.infer = infer_form<kOp>;
  if (plain.flops != nullptr) info.flops = plain_flops;
  info.variadic = info.optional = true;
  return info;
}

const OpInfo& find_row(const std::vector<OpInfo>& rows, OpKind op) {
  for (const OpInfo& row : rows) {
    if (row.kind == op) return row;
  }
  fail(ErrorKind::Internal, "no row of op {}", int(op));
}

}  // namespace

std::vector<OpInfo> fused_ops() {
  std::vector<Alias> over_any;
  for (int i = 0; i < kMostProgramOperands; ++i) over_any.push_back({0, i});
  std::vector<OpInfo> conv = conv_ops(), linear = linear_ops(), norm = norm_ops();
  return {
      // y is the program's result. Only an input as large as y is written over, and that one is
      // not repeated.
      {.kind = OpKind::Fused,
       .name = "fused",
       .inputs = {"x"},
       .outputs = {"y"},
       .attributes = {{"program", AttributeType::Text, {}}},
       .infer = infer_fused,
       .in_place = over_any,
       .variadic = true,
       .half_operands = 1},
      fused_row<OpKind::Conv2dFused>(find_row(conv, OpKind::Conv2d), "conv2d_fused"),
      fused_row<OpKind::MatMulFused>(find_row(linear, OpKind::MatMul), "matmul_fused"),
      fused_row<OpKind::BatchNormFused>(find_row(norm, OpKind::BatchNorm), "batch_norm_fused"),
      fused_row<OpKind::BatchNormInferenceFused>(find_row(norm, OpKind::BatchNormInference),
                                                 "batch_norm_inference_fused"),
  };
}

}  // namespace pounce
