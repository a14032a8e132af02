#include "backend/reference/kernels.h"

#include <fmt/format.h>

#include "backend/reference/families.h"

namespace pounce {
namespace reference {

std::optional<std::string> refuse_other_floats(const NodeContext& context) {
  auto served = [](DType dtype) {
    return !is_floating(dtype) || dtype == DType::F32 || dtype == DType::F64;
  };
  auto reason = [](DType dtype) {
    return fmt::format("a tensor is {}, f32 and f64 are served", dtype_name(dtype));
  };
  for (size_t i = 0; i < context.node.inputs.size(); ++i) {
    if (!served(context.input(i).dtype)) return reason(context.input(i).dtype);
  }
  for (size_t i = 0; i < context.node.outputs.size(); ++i) {
    if (!served(context.output(i).dtype)) return reason(context.output(i).dtype);
  }
  return std::nullopt;
}

namespace {

using Table = std::vector<std::vector<Implementation>>;

Table build_table() {
  Table table(op_table().size());
  for (auto* family : {control_kernels, image_kernels, elementwise_kernels, linear_kernels,
                       layout_kernels, reduce_kernels, softmax_kernels, conv_kernels, norm_kernels,
                       layer_norm_kernels, pool_kernels, avg_pool_kernels, loss_kernels,
                       optimizer_kernels, precision_kernels, fused_kernels}) {
    for (Row& row : family()) table[size_t(row.op)].push_back(std::move(row.implementation));
  }
  return table;
}

Table build_table_with_half() {
  Table table = build_table();
  for (Row& row : fused_half_kernels()) {
    table[size_t(row.op)].push_back(std::move(row.implementation));
  }
  for (std::vector<Implementation>& list : table) {
    if (!list.empty()) list.push_back(half_implementation());
  }
  return table;
}

}  // namespace
}  // namespace reference

std::span<const Implementation> reference_implementations(OpKind op) {
  static const reference::Table table = reference::build_table();
  return table[size_t(op)];
}

std::span<const Implementation> reference_implementations_with_half(OpKind op) {
  static const reference::Table table = reference::build_table_with_half();
  return table[size_t(op)];
}

}  // namespace pounce
