#include "ir/conv_params.h"
#include "ir/ops/families.h"

namespace pounce {

int64_t window_count(int64_t size, int64_t kernel, int64_t stride, int64_t pad, int64_t dilation) {
  if (stride < 1 || pad < 0 || dilation < 1 || kernel < 1) {
    fail(ErrorKind::InvalidArgument, "kernel {}, stride {}, padding {}, dilation {} is no window",
         kernel, stride, pad, dilation);
  }
  int64_t span = dilation * (kernel - 1) + 1;
  if (size + 2 * pad < span) {
    fail(ErrorKind::InvalidArgument, "a window of {} does not fit an extent of {} padded by {}",
         span, size, pad);
  }
  return (size + 2 * pad - span) / stride + 1;
}

namespace {

ConvParams window_params(const Attributes& attributes) {
  auto pair = [&](const char* name) {
    const std::vector<int64_t>& value = attributes.integers(name);
    if (value.size() != 2) {
      fail(ErrorKind::InvalidArgument, "{} has {} entries, expected 2", name, value.size());
    }
    return value;
  };
  ConvParams p{};
  std::vector<int64_t> stride = pair("stride");
  std::vector<int64_t> padding = pair("padding");
  std::vector<int64_t> dilation = pair("dilation");
  p.stride_h = stride[0], p.stride_w = stride[1];
  p.pad_h = padding[0], p.pad_w = padding[1];
  p.dilation_h = dilation[0], p.dilation_w = dilation[1];
  p.groups = attributes.integer("groups");
  return p;
}

ConvParams params_of(const Shape& x, const Shape& weights, const Attributes& attributes) {
  ConvParams p = window_params(attributes);
  p.batch = x[0], p.height = x[1], p.width = x[2], p.channels = x[3];
  p.out_channels = weights[0], p.kernel_height = weights[1], p.kernel_width = weights[2];
  if (p.groups < 1 || p.channels % p.groups != 0 || p.out_channels % p.groups != 0 ||
      weights[3] != p.channels / p.groups) {
    fail(ErrorKind::InvalidArgument,
         "the input {} has {} channels, the weights {} expect {} (in {} groups)", to_string(x),
         p.channels, to_string(weights), weights[3] * p.groups, p.groups);
  }
  p.out_height = window_count(p.height, p.kernel_height, p.stride_h, p.pad_h, p.dilation_h);
  p.out_width = window_count(p.width, p.kernel_width, p.stride_w, p.pad_w, p.dilation_w);
  return p;
}

Shape out_shape(const ConvParams& p) {
  return {p.batch, p.out_height, p.out_width, p.out_channels};
}

void expect_conv_inputs(const InferInput& in, const char* first, const char* second) {
  expect_floating(in.inputs[0], first);
  expect_rank(in.inputs[0], first, 4);
  expect_rank(in.inputs[1], second, 4);
  expect_dtype(in.inputs[1], second, in.inputs[0].dtype);
}

// x's shape for the data gradient, which has only its spatial extents as attributes.
Shape data_shape(const Shape& grad_y, const Shape& weights, const Attributes& attributes) {
  return {grad_y[0], attributes.integer("height"), attributes.integer("width"),
          weights[3] * attributes.integer("groups")};
}

Shape weights_shape(const Shape& x, const Shape& grad_y, const Attributes& attributes) {
  const std::vector<int64_t>& kernel = attributes.integers("kernel");
  if (kernel.size() != 2) fail(ErrorKind::InvalidArgument, "kernel needs 2 entries");
  int64_t groups = attributes.integer("groups");
  return {grad_y[3], kernel[0], kernel[1], groups > 0 ? x[3] / groups : x[3]};
}

void expect_grad(const TensorType& grad_y, const ConvParams& p) {
  expect_type(grad_y, "grad_y", {grad_y.dtype, out_shape(p)});
}

std::vector<TensorType> infer_conv(const InferInput& in) {
  expect_conv_inputs(in, "x", "weights");
  ConvParams p = params_of(in.inputs[0].shape, in.inputs[1].shape, in.attributes);
  return {{in.inputs[0].dtype, out_shape(p)}};
}

std::vector<TensorType> infer_bwd_data(const InferInput& in) {
  expect_conv_inputs(in, "grad_y", "weights");
  Shape x = data_shape(in.inputs[0].shape, in.inputs[1].shape, in.attributes);
  expect_grad(in.inputs[0], params_of(x, in.inputs[1].shape, in.attributes));
  return {{in.inputs[0].dtype, x}};
}

std::vector<TensorType> infer_bwd_weights(const InferInput& in) {
  expect_conv_inputs(in, "x", "grad_y");
  Shape weights = weights_shape(in.inputs[0].shape, in.inputs[1].shape, in.attributes);
  expect_grad(in.inputs[1], params_of(in.inputs[0].shape, weights, in.attributes));
  return {{wide(in.inputs[0].dtype), weights}};
}

double conv_flops(const Graph& graph, const Node& node) {
  return conv_params(graph, node).flops();
}

}  // namespace

ConvParams conv_params(const Graph& graph, const Node& node) {
  const Shape& first = graph.shape(node.inputs[0]);
  const Shape& second = graph.shape(node.inputs[1]);
  switch (node.op) {
    case OpKind::Conv2d:
      return params_of(first, second, node.attributes);
    case OpKind::Conv2dBwdData:
      return params_of(data_shape(first, second, node.attributes), second, node.attributes);
    case OpKind::Conv2dBwdWeights:
      return params_of(first, weights_shape(first, second, node.attributes), node.attributes);
    default:
      fail(ErrorKind::Internal, "{} is no convolution", op_info(node.op).name);
  }
}

std::vector<OpInfo> conv_ops() {
  const AttributeValue ones = std::vector<int64_t>{1, 1};
  const AttributeValue zeros = std::vector<int64_t>{0, 0};
  const std::vector<AttributeInfo> window = {{"stride", AttributeType::Ints, ones},
                                             {"padding", AttributeType::Ints, zeros},
                                             {"dilation", AttributeType::Ints, ones},
                                             {"groups", AttributeType::Int, int64_t{1}}};
  auto with = [&](std::vector<AttributeInfo> more) {
    more.insert(more.end(), window.begin(), window.end());
    return more;
  };
  return {
      // Cross-correlation. x N,H,W,C; weights K,R,S,C/groups; y N,P,Q,K.
      {.kind = OpKind::Conv2d,
       .name = "conv2d",
       .inputs = {"x", "weights"},
       .outputs = {"y"},
       .attributes = window,
       .infer = infer_conv,
       .flops = conv_flops,
       .half_operands = 2,
       .autocast = Autocast::Product},
      {.kind = OpKind::Conv2dBwdData,
       .name = "conv2d_bwd_data",
       .inputs = {"grad_y", "weights"},
       .outputs = {"grad_x"},
       .attributes = with({{"height", AttributeType::Int, {}}, {"width", AttributeType::Int, {}}}),
       .infer = infer_bwd_data,
       .flops = conv_flops,
       .half_operands = 2,
       .autocast = Autocast::Product},
      {.kind = OpKind::Conv2dBwdWeights,
       .name = "conv2d_bwd_weights",
       .inputs = {"x", "grad_y"},
       .outputs = {"grad_weights"},
       .attributes = with({{"kernel", AttributeType::Ints, {}}}),
       .infer = infer_bwd_weights,
       .flops = conv_flops,
       .half_operands = 2,
       .autocast = Autocast::Product},
  };
}

}  // namespace pounce
