// The cpu backend's kernels by op, best first, each list ending with the reference.
//
// All of them give the same bits for any number of threads; where a sample's result must not depend
// on its batch, they keep that too: work is cut by shape, partial sums are added in a fixed order.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/implementation.h"

namespace pounce::cpu {

// Empty for leaves.
std::span<const Implementation> implementations(OpKind op);

struct Row {
  OpKind op;
  Implementation implementation;
};

// One file per op family; an op may have several rows, best first.
std::vector<Row> control_kernels();
std::vector<Row> image_kernels();
std::vector<Row> elementwise_kernels();
std::vector<Row> linear_kernels();
std::vector<Row> layout_kernels();
std::vector<Row> reduce_kernels();
std::vector<Row> softmax_kernels();
std::vector<Row> grouped_conv_kernels();
std::vector<Row> conv_kernels();
std::vector<Row> norm_kernels();
std::vector<Row> layer_norm_kernels();
std::vector<Row> pool_kernels();
std::vector<Row> avg_pool_kernels();
std::vector<Row> loss_kernels();
std::vector<Row> optimizer_kernels();
std::vector<Row> fused_kernels();

// A reason where a floating tensor of the node is not f32.
std::optional<std::string> refuse_other_floats(const NodeContext& context);

// Channels stand last: values of one channel, which is one row of the tensor seen as a matrix.
inline int64_t channels_of(const TensorType& type) {
  return type.shape[type.shape.rank() - 1];
}

}  // namespace pounce::cpu
