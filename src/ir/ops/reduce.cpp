#include <algorithm>

#include "ir/layout_params.h"
#include "ir/ops/families.h"

namespace pounce {
namespace {

bool contains(const std::vector<int64_t>& axes, int axis) {
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

}  // namespace

Shape reduced_shape(const Shape& shape, const std::vector<int64_t>& axes, bool keep_dims) {
  std::vector<int64_t> extents;
  for (int i = 0; i < shape.rank(); ++i) {
    if (!contains(axes, i)) {
      extents.push_back(shape[i]);
    } else if (keep_dims) {
      extents.push_back(1);
    }
  }
  return Shape(extents);
}

int64_t reduced_elements(const Shape& x, const std::vector<int64_t>& axes) {
  int64_t elements = 1;
  for (int64_t axis : axes) elements *= x[int(axis)];
  return elements;
}

StridedWalk reduce_walk(const Shape& x, const std::vector<int64_t>& axes) {
  std::vector<int64_t> strides(size_t(x.rank()));
  int64_t stride = 1;
  for (int i = x.rank(); i-- > 0;) {
    if (contains(axes, i)) continue;
    strides[size_t(i)] = stride;
    stride *= x[i];
  }
  StridedWalk walk;
  for (int i = 0; i < x.rank(); ++i) walk.append(x[i], strides[size_t(i)], 0);
  return walk;
}

namespace {

void expect_axes(const TensorType& x, const std::vector<int64_t>& axes) {
  int64_t before = -1;
  for (int64_t axis : axes) {
    if (axis <= before || axis >= x.shape.rank()) {
      fail(ErrorKind::InvalidArgument, "axes [{}] of {}, expected some of 0 to {} in order",
           fmt::join(axes, ","), to_string(x), x.shape.rank() - 1);
    }
    before = axis;
  }
}

TensorType reduced(const TensorType& x, const Attributes& attributes) {
  expect_floating(x, "x");
  const std::vector<int64_t>& axes = attributes.integers("axes");
  expect_axes(x, axes);
  return {x.dtype, reduced_shape(x.shape, axes, attributes.integer("keep_dims") != 0)};
}

std::vector<TensorType> infer_sum(const InferInput& in) {
  TensorType y = reduced(in.inputs[0], in.attributes);
  return {{wide(y.dtype), y.shape}};
}

// Of nothing there is neither a mean nor a maximum.
std::vector<TensorType> infer_max(const InferInput& in) {
  TensorType y = reduced(in.inputs[0], in.attributes);
  if (reduced_elements(in.inputs[0].shape, in.attributes.integers("axes")) == 0) {
    fail(ErrorKind::InvalidArgument, "x is {}: nothing to reduce over axes [{}]",
         to_string(in.inputs[0]), fmt::join(in.attributes.integers("axes"), ","));
  }
  return {y};
}

std::vector<TensorType> infer_mean(const InferInput& in) {
  TensorType y = infer_max(in)[0];
  return {{wide(y.dtype), y.shape}};
}

std::vector<TensorType> infer_largest_magnitude(const InferInput& in) {
  expect_floating(in.inputs[0], "x");
  return {kScalarF32};
}

std::vector<TensorType> infer_max_bwd(const InferInput& in) {
  TensorType y = reduced(in.inputs[1], in.attributes);
  expect_type(in.inputs[0], "grad_y", y);
  expect_type(in.inputs[2], "y", y);
  return {in.inputs[1]};
}

void expect_rows(const TensorType& x, const char* what) {
  expect_wide(x, what);
  if (x.shape.rank() == 0 || x.shape[x.shape.rank() - 1] == 0) {
    fail(ErrorKind::InvalidArgument, "{} is {}, expected a last axis that is not empty", what,
         to_string(x));
  }
}

std::vector<TensorType> infer_softmax(const InferInput& in) {
  expect_rows(in.inputs[0], "x");
  return {in.inputs[0]};
}

std::vector<TensorType> infer_softmax_bwd(const InferInput& in) {
  expect_rows(in.inputs[1], "y");
  expect_type(in.inputs[0], "grad_y", in.inputs[1]);
  return {in.inputs[1]};
}

OpInfo reduction(OpKind kind, std::string_view name,
                 std::vector<TensorType> (*infer)(const InferInput&)) {
  return {.kind = kind,
          .name = name,
          .inputs = {"x"},
          .outputs = {"y"},
          .attributes = {{"axes", AttributeType::Ints, {}},
                         {"keep_dims", AttributeType::Int, AttributeValue(int64_t{0})}},
          .infer = infer,
          .half_operands = 1,
          .autocast = Autocast::Follow};
}

OpInfo softmax(OpKind kind, std::string_view name) {
  return {.kind = kind,
          .name = name,
          .inputs = {"x"},
          .outputs = {"y"},
          .attributes = {},
          .infer = infer_softmax,
          .in_place = {{0, 0}}};
}

OpInfo softmax_bwd(OpKind kind, std::string_view name) {
  return {.kind = kind,
          .name = name,
          .inputs = {"grad_y", "y"},
          .outputs = {"grad_x"},
          .attributes = {},
          .infer = infer_softmax_bwd,
          .in_place = {{0, 0}, {0, 1}}};
}

}  // namespace

std::vector<OpInfo> reduce_ops() {
  OpInfo max_bwd = reduction(OpKind::ReduceMaxBwd, "reduce_max_bwd", infer_max_bwd);
  max_bwd.inputs = {"grad_y", "x", "y"};
  max_bwd.outputs = {"grad_x"};
  max_bwd.half_operands = 3;
  return {
      // Over `axes`, in ascending order, which keep an extent of 1 with keep_dims.
      reduction(OpKind::ReduceSum, "reduce_sum", infer_sum),
      reduction(OpKind::ReduceMean, "reduce_mean", infer_mean),
      // NaN beats every number.
      reduction(OpKind::ReduceMax, "reduce_max", infer_max),
      // Equal maxima share the gradient, as torch.amax has it.
      max_bwd,
      // The largest absolute value, 0 of nothing; NaN beats every number.
      {.kind = OpKind::LargestMagnitude,
       .name = "largest_magnitude",
       .inputs = {"x"},
       .outputs = {"y"},
       .attributes = {},
       .infer = infer_largest_magnitude,
       .half_operands = 1,
       .autocast = Autocast::Follow},
      // Over the last axis.
      softmax(OpKind::Softmax, "softmax"),
      softmax_bwd(OpKind::SoftmaxBwd, "softmax_bwd"),
      softmax(OpKind::LogSoftmax, "log_softmax"),
      softmax_bwd(OpKind::LogSoftmaxBwd, "log_softmax_bwd"),
  };
}

}  // namespace pounce
