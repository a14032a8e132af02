#include <algorithm>

#include <fmt/format.h>

#include "backend/kernels/families.h"
#include "base/error.h"
#include "plan/plan.h"

namespace pounce::kernels {

std::string storage(DType dtype) {
  switch (dtype) {
    case DType::F32:
      return "F32";
    case DType::F16:
      return "F16";
    case DType::BF16:
      return "BF16";
    default:
      fail(ErrorKind::Internal, "{} has no storage macro", dtype_name(dtype));
  }
}

std::string element_of(int64_t bytes) {
  switch (bytes) {
    case 1:
      return "u8";
    case 2:
      return "u16";
    case 4:
      return "u32";
    default:
      POUNCE_ASSERT(bytes == 8);
      return "i64";
  }
}

std::optional<std::string> refuse_f64(const NodeContext& context) {
  auto is_f64 = [&](Value value) { return context.graph.type(value).dtype == DType::F64; };
  const Node& node = context.node;
  if (std::none_of(node.inputs.begin(), node.inputs.end(), is_f64) &&
      std::none_of(node.outputs.begin(), node.outputs.end(), is_f64)) {
    return std::nullopt;
  }
  return "a tensor is f64, only f32, f16 and bf16 are served";
}

Sections::Sections(const Target& target) : alignment_(target.placement_alignment) {}

Operand Sections::add(int64_t elements, size_t element_bytes) {
  Operand section{Operand::Kind::Workspace, 0, bytes_};
  bytes_ += align_up(size_t(elements) * element_bytes, alignment_);
  return section;
}

namespace {

using Table = std::vector<std::vector<Implementation>>;

Table build_table() {
  Table table(op_table().size());
  for (auto* family : {control_kernels, image_kernels, elementwise_kernels, gemm_kernels,
                       layout_kernels, reduce_kernels, softmax_kernels, norm_kernels, pool_kernels,
                       loss_kernels, optimizer_kernels, fused_kernels}) {
    for (Row& row : family()) table[size_t(row.op)].push_back(std::move(row.implementation));
  }
  return table;
}

}  // namespace

std::span<const Implementation> implementations(OpKind op) {
  static const Table table = build_table();
  return table[size_t(op)];
}

}  // namespace pounce::kernels
