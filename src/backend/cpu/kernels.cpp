#include "backend/cpu/kernels.h"

#include <fmt/format.h>

#include "backend/reference/kernels.h"

namespace pounce::cpu {

std::optional<std::string> refuse_other_floats(const NodeContext& context) {
  auto check = [](const TensorType& type) -> std::optional<std::string> {
    if (!is_floating(type.dtype) || type.dtype == DType::F32) return std::nullopt;
    return fmt::format("a tensor is {}, only f32 is served", dtype_name(type.dtype));
  };
  for (size_t i = 0; i < context.node.inputs.size(); ++i) {
    if (auto reason = check(context.input(i))) return reason;
  }
  for (size_t i = 0; i < context.node.outputs.size(); ++i) {
    if (auto reason = check(context.output(i))) return reason;
  }
  return std::nullopt;
}

namespace {

using Table = std::vector<std::vector<Implementation>>;

Table build_table() {
  Table table(op_table().size());
  for (auto* family : {control_kernels, image_kernels, elementwise_kernels, linear_kernels,
                       layout_kernels, reduce_kernels, softmax_kernels, conv_kernels,
                       grouped_conv_kernels, norm_kernels, layer_norm_kernels, pool_kernels,
                       avg_pool_kernels, loss_kernels, optimizer_kernels, fused_kernels}) {
    for (Row& row : family()) table[size_t(row.op)].push_back(std::move(row.implementation));
  }
  for (const OpInfo& op : op_table()) {
    std::span<const Implementation> last = reference_implementations(op.kind);
    table[size_t(op.kind)].insert(table[size_t(op.kind)].end(), last.begin(), last.end());
  }
  return table;
}

}  // namespace

std::span<const Implementation> implementations(OpKind op) {
  static const Table table = build_table();
  return table[size_t(op)];
}

}  // namespace pounce::cpu
