// The reference kernels' tables, one file per op family, and what they share.
#pragma once

#include <utility>
#include <vector>

#include "backend/implementation.h"

namespace pounce::reference {

struct Row {
  OpKind op;
  Implementation implementation;
};

std::vector<Row> control_kernels();
std::vector<Row> image_kernels();
std::vector<Row> elementwise_kernels();
std::vector<Row> linear_kernels();
std::vector<Row> layout_kernels();
std::vector<Row> reduce_kernels();
std::vector<Row> softmax_kernels();
std::vector<Row> conv_kernels();
std::vector<Row> norm_kernels();
std::vector<Row> layer_norm_kernels();
std::vector<Row> pool_kernels();
std::vector<Row> avg_pool_kernels();
std::vector<Row> loss_kernels();
std::vector<Row> optimizer_kernels();
std::vector<Row> precision_kernels();
std::vector<Row> fused_kernels();
// Those for f16 and bf16, whose steps round one by one.
std::vector<Row> fused_half_kernels();

// Serves f16 and bf16 for every op whose f32 form the tables above serve.
Implementation half_implementation();

// The formula of an elementwise op in float or double; those of one input ignore b.
template <typename T>
using Formula = T (*)(T a, T b);
template <typename T>
Formula<T> formula_of(OpKind op);

// A reason where a floating tensor of the node is neither f32 nor f64.
std::optional<std::string> refuse_other_floats(const NodeContext& context);

using MakeKernel = HostKernel (*)(const NodeContext&);
using WorkspaceBytes = size_t (*)(const NodeContext&);

// Picks between the two instantiations of a kernel by the type of the node's first input.
template <MakeKernel make_f32, MakeKernel make_f64>
HostKernel by_dtype(const NodeContext& context) {
  return context.input(0).dtype == DType::F64 ? make_f64(context) : make_f32(context);
}

// The row of an op whose kernel is a template over the floating type.
template <MakeKernel make_f32, MakeKernel make_f64>
Row floating_row(OpKind op, WorkspaceBytes workspace_bytes = nullptr) {
  return {op,
          {.name = "reference",
           .refuse = refuse_other_floats,
           .workspace_bytes = workspace_bytes,
           .make = by_dtype<make_f32, make_f64>}};
}

// Channels stand last: elements of one channel, which is one row of the tensor seen as a matrix.
inline int64_t channels_of(const TensorType& type) {
  return type.shape[type.shape.rank() - 1];
}

}  // namespace pounce::reference
