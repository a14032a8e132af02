#include "ir/conv_params.h"
#include "ir/ops/families.h"

namespace pounce {
namespace {

PoolParams params_of(const Shape& x, const Attributes& attributes) {
  auto pair = [&](const char* name) {
    const std::vector<int64_t>& value = attributes.integers(name);
    if (value.size() != 2) {
      fail(ErrorKind::InvalidArgument, "{} has {} entries, expected 2", name, value.size());
    }
    return value;
  };
  std::vector<int64_t> kernel = pair("kernel");
  std::vector<int64_t> stride = pair("stride");
  std::vector<int64_t> padding = pair("padding");
  PoolParams p{x[0],      x[1],      x[2],      x[3],      0,          0,
               kernel[0], kernel[1], stride[0], stride[1], padding[0], padding[1]};
  if (2 * p.pad_h > p.kernel_h || 2 * p.pad_w > p.kernel_w) {
    fail(ErrorKind::InvalidArgument, "padding [{},{}] exceeds half the kernel [{},{}]", p.pad_h,
         p.pad_w, p.kernel_h, p.kernel_w);
  }
  p.out_height = window_count(p.height, p.kernel_h, p.stride_h, p.pad_h, 1);
  p.out_width = window_count(p.width, p.kernel_w, p.stride_w, p.pad_w, 1);
  return p;
}

// The position of the maximum within its window is kept in a byte.
void expect_small_window(const Attributes& attributes) {
  const std::vector<int64_t>& kernel = attributes.integers("kernel");
  if (kernel.size() == 2 && kernel[0] * kernel[1] > 256) {
    fail(ErrorKind::InvalidArgument, "a window of {} x {} has over 256 elements", kernel[0],
         kernel[1]);
  }
}

Shape input_shape_of_bwd(const Shape& grad_y, const Attributes& attributes) {
  return {grad_y[0], attributes.integer("height"), attributes.integer("width"), grad_y[3]};
}

std::vector<TensorType> infer_max_pool(const InferInput& in) {
  expect_floating(in.inputs[0], "x");
  expect_rank(in.inputs[0], "x", 4);
  expect_small_window(in.attributes);
  PoolParams p = params_of(in.inputs[0].shape, in.attributes);
  Shape out = {p.batch, p.out_height, p.out_width, p.channels};
  return {{in.inputs[0].dtype, out}, {DType::U8, out}};
}

std::vector<TensorType> infer_max_pool_bwd(const InferInput& in) {
  expect_floating(in.inputs[0], "grad_y");
  expect_rank(in.inputs[0], "grad_y", 4);
  expect_type(in.inputs[1], "position", {DType::U8, in.inputs[0].shape});
  Shape x = input_shape_of_bwd(in.inputs[0].shape, in.attributes);
  expect_small_window(in.attributes);
  PoolParams p = params_of(x, in.attributes);
  expect_type(in.inputs[0], "grad_y",
              {in.inputs[0].dtype, {p.batch, p.out_height, p.out_width, p.channels}});
  return {{in.inputs[0].dtype, x}};
}

std::vector<TensorType> infer_global_avg_pool(const InferInput& in) {
  expect_floating(in.inputs[0], "x");
  expect_rank(in.inputs[0], "x", 4);
  const Shape& x = in.inputs[0].shape;
  if (x[1] * x[2] == 0) fail(ErrorKind::InvalidArgument, "x is {}: no pixels", to_string(x));
  return {{in.inputs[0].dtype, {x[0], x[3]}}};
}

std::vector<TensorType> infer_global_avg_pool_bwd(const InferInput& in) {
  expect_floating(in.inputs[0], "grad_y");
  expect_rank(in.inputs[0], "grad_y", 2);
  const Shape& y = in.inputs[0].shape;
  return {{in.inputs[0].dtype,
           {y[0], in.attributes.integer("height"), in.attributes.integer("width"), y[1]}}};
}

std::vector<TensorType> infer_avg_pool(const InferInput& in) {
  expect_floating(in.inputs[0], "x");
  expect_rank(in.inputs[0], "x", 4);
  PoolParams p = params_of(in.inputs[0].shape, in.attributes);
  return {{in.inputs[0].dtype, {p.batch, p.out_height, p.out_width, p.channels}}};
}

std::vector<TensorType> infer_avg_pool_bwd(const InferInput& in) {
  expect_floating(in.inputs[0], "grad_y");
  expect_rank(in.inputs[0], "grad_y", 4);
  Shape x = input_shape_of_bwd(in.inputs[0].shape, in.attributes);
  PoolParams p = params_of(x, in.attributes);
  expect_type(in.inputs[0], "grad_y",
              {in.inputs[0].dtype, {p.batch, p.out_height, p.out_width, p.channels}});
  return {{in.inputs[0].dtype, x}};
}

}  // namespace

PoolParams pool_params(const Graph& graph, const Node& node) {
  const Shape& first = graph.shape(node.inputs[0]);
  if (node.op == OpKind::MaxPool || node.op == OpKind::AvgPool) {
    return params_of(first, node.attributes);
  }
  POUNCE_ASSERT(node.op == OpKind::MaxPoolBwd || node.op == OpKind::AvgPoolBwd);
  return params_of(input_shape_of_bwd(first, node.attributes), node.attributes);
}

std::vector<OpInfo> pool_ops() {
  const std::vector<AttributeInfo> window = {
      {"kernel", AttributeType::Ints, {}},
      {"stride", AttributeType::Ints, {}},
      {"padding", AttributeType::Ints, AttributeValue(std::vector<int64_t>{0, 0})}};
  const std::vector<AttributeInfo> extents = {{"height", AttributeType::Int, {}},
                                              {"width", AttributeType::Int, {}}};
  std::vector<AttributeInfo> window_and_extents = window;
  window_and_extents.insert(window_and_extents.end(), extents.begin(), extents.end());
  const AttributeInfo include_pad = {"count_include_pad", AttributeType::Int,
                                     AttributeValue(int64_t{1})};
  std::vector<AttributeInfo> avg = window, avg_bwd = window_and_extents;
  avg.push_back(include_pad);
  avg_bwd.push_back(include_pad);
  return {
      // Padding never wins. position: r * S + s of the first maximum in its window.
      {.kind = OpKind::MaxPool,
       .name = "max_pool",
       .inputs = {"x"},
       .outputs = {"y", "position"},
       .attributes = window,
       .infer = infer_max_pool,
       .half_operands = 1,
       .autocast = Autocast::Follow},
      {.kind = OpKind::MaxPoolBwd,
       .name = "max_pool_bwd",
       .inputs = {"grad_y", "position"},
       .outputs = {"grad_x"},
       .attributes = window_and_extents,
       .infer = infer_max_pool_bwd,
       .half_operands = 1,
       .autocast = Autocast::Follow},
      // N,H,W,C to the mean over H,W: N,C.
      {.kind = OpKind::GlobalAvgPool,
       .name = "global_avg_pool",
       .inputs = {"x"},
       .outputs = {"y"},
       .attributes = {},
       .infer = infer_global_avg_pool,
       .half_operands = 1,
       .autocast = Autocast::Follow},
      {.kind = OpKind::GlobalAvgPoolBwd,
       .name = "global_avg_pool_bwd",
       .inputs = {"grad_y"},
       .outputs = {"grad_x"},
       .attributes = extents,
       .infer = infer_global_avg_pool_bwd,
       .half_operands = 1,
       .autocast = Autocast::Follow},
      // Mean of each window; with count_include_pad its zeros count, as torch.nn.AvgPool2d.
      {.kind = OpKind::AvgPool,
       .name = "avg_pool",
       .inputs = {"x"},
       .outputs = {"y"},
       .attributes = avg,
       .infer = infer_avg_pool,
       .half_operands = 1,
       .autocast = Autocast::Follow},
      {.kind = OpKind::AvgPoolBwd,
       .name = "avg_pool_bwd",
       .inputs = {"grad_y"},
       .outputs = {"grad_x"},
       .attributes = avg_bwd,
       .infer = infer_avg_pool_bwd,
       .half_operands = 1,
       .autocast = Autocast::Follow},
  };
}

}  // namespace pounce
