#include "ir/ops/families.h"

namespace pounce {
namespace {

struct MatMulSize {
  int64_t rows, columns, depth, depth_b;
};

MatMulSize matmul_size(const Shape& a, const Shape& b, const Attributes& attributes) {
  bool transpose_a = attributes.integer("transpose_a") != 0;
  bool transpose_b = attributes.integer("transpose_b") != 0;
  return {a[transpose_a ? 1 : 0], b[transpose_b ? 0 : 1], a[transpose_a ? 0 : 1],
          b[transpose_b ? 1 : 0]};
}

std::vector<TensorType> infer_matmul(const InferInput& in) {
  expect_floating(in.inputs[0], "a");
  expect_rank(in.inputs[0], "a", 2);
  expect_rank(in.inputs[1], "b", 2);
  expect_dtype(in.inputs[1], "b", in.inputs[0].dtype);
  MatMulSize size = matmul_size(in.inputs[0].shape, in.inputs[1].shape, in.attributes);
  if (size.depth != size.depth_b) {
    fail(ErrorKind::InvalidArgument, "a {} has depth {}, b {} has depth {}",
         to_string(in.inputs[0]), size.depth, to_string(in.inputs[1]), size.depth_b);
  }
  bool is_wide = in.attributes.integer("wide_output") != 0;
  DType dtype = in.inputs[0].dtype;
  return {{is_wide ? wide(dtype) : dtype, {size.rows, size.columns}}};
}

double matmul_flops(const Graph& graph, const Node& node) {
  MatMulSize size =
      matmul_size(graph.shape(node.inputs[0]), graph.shape(node.inputs[1]), node.attributes);
  return 2.0 * double(size.rows) * double(size.columns) * double(size.depth);
}

std::vector<TensorType> infer_bias_add(const InferInput& in) {
  const TensorType& x = in.inputs[0];
  expect_floating(x, "x");
  expect_channels({wide(in.inputs[1].dtype), in.inputs[1].shape}, "bias", x);
  expect_dtype(in.inputs[1], "bias", x.dtype);
  return {x};
}

std::vector<TensorType> infer_bias_bwd(const InferInput& in) {
  expect_floating(in.inputs[0], "grad_y");
  expect_rank(in.inputs[0], "grad_y", 2);
  return {{wide(in.inputs[0].dtype), {in.inputs[0].shape[1]}}};
}

// The last two axes are matrices, the others count them.
MatMulSize batch_matmul_size(const Shape& a, const Shape& b, const Attributes& attributes) {
  auto matrix = [](const Shape& shape) {
    return Shape{shape[shape.rank() - 2], shape[shape.rank() - 1]};
  };
  return matmul_size(matrix(a), matrix(b), attributes);
}

std::vector<TensorType> infer_batch_matmul(const InferInput& in) {
  const TensorType &a = in.inputs[0], &b = in.inputs[1];
  expect_floating(a, "a");
  expect_dtype(b, "b", a.dtype);
  int rank = a.shape.rank();
  bool fits = rank >= 3 && b.shape.rank() == rank;
  for (int i = 0; fits && i < rank - 2; ++i) fits = a.shape[i] == b.shape[i];
  if (!fits) {
    fail(ErrorKind::InvalidArgument,
         "a is {}, b is {}, expected at least 3 axes, equal but for the last two", to_string(a),
         to_string(b));
  }
  MatMulSize size = batch_matmul_size(a.shape, b.shape, in.attributes);
  if (size.depth != size.depth_b) {
    fail(ErrorKind::InvalidArgument, "a {} has depth {}, b {} has depth {}", to_string(a),
         size.depth, to_string(b), size.depth_b);
  }
  std::vector<int64_t> extents(a.shape.extents().begin(), a.shape.extents().end());
  extents[size_t(rank - 2)] = size.rows, extents[size_t(rank - 1)] = size.columns;
  return {{a.dtype, Shape(extents)}};
}

double batch_matmul_flops(const Graph& graph, const Node& node) {
  MatMulSize size =
      batch_matmul_size(graph.shape(node.inputs[0]), graph.shape(node.inputs[1]), node.attributes);
  return 2.0 * double(graph.shape(node.outputs[0]).elements()) * double(size.depth);
}

}  // namespace

std::vector<OpInfo> linear_ops() {
  const AttributeValue no = int64_t{0};
  return {
      // Matrices, row-major; either may be read transposed. With wide_output the product of halves
      // comes out in f32: the gradient of a weight.
      {.kind = OpKind::MatMul,
       .name = "matmul",
       .inputs = {"a", "b"},
       .outputs = {"y"},
       .attributes = {{"transpose_a", AttributeType::Int, no},
                      {"transpose_b", AttributeType::Int, no},
                      {"wide_output", AttributeType::Int, no}},
       .infer = infer_matmul,
       .flops = matmul_flops,
       .half_operands = 2,
       .autocast = Autocast::Product},
      {.kind = OpKind::BiasAdd,
       .name = "bias_add",
       .inputs = {"x", "bias"},
       .outputs = {"y"},
       .attributes = {},
       .infer = infer_bias_add,
       .in_place = {{0, 0}},
       .half_operands = 2,
       .autocast = Autocast::Follow},
      // Sum over rows.
      {.kind = OpKind::BiasBwd,
       .name = "bias_bwd",
       .inputs = {"grad_y"},
       .outputs = {"grad_bias"},
       .attributes = {},
       .infer = infer_bias_bwd,
       .half_operands = 1,
       .autocast = Autocast::Follow},
      // One product for each index of the leading axes, which a and b share.
      {.kind = OpKind::BatchMatMul,
       .name = "batch_matmul",
       .inputs = {"a", "b"},
       .outputs = {"y"},
       .attributes = {{"transpose_a", AttributeType::Int, no},
                      {"transpose_b", AttributeType::Int, no}},
       .infer = infer_batch_matmul,
       .flops = batch_matmul_flops,
       .half_operands = 2,
       .autocast = Autocast::Product},
  };
}

}  // namespace pounce
