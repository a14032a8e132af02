#include <algorithm>
#include <numeric>

#include "ir/layout_params.h"
#include "ir/ops/families.h"

namespace pounce {

AxisView axis_view(const Shape& shape, int64_t axis) {
  if (axis < 0 || axis >= shape.rank()) {
    fail(ErrorKind::InvalidArgument, "axis {} of {}, expected 0 to {}", axis, to_string(shape),
         shape.rank() - 1);
  }
  AxisView view;
  for (int i = 0; i < shape.rank(); ++i) {
    (i < axis ? view.outer : i == axis ? view.extent : view.inner) *= shape[i];
  }
  return view;
}

StridedWalk transpose_walk(const Graph& graph, const Node& node) {
  const Shape& x = graph.shape(node.inputs[0]);
  std::vector<int64_t> strides(size_t(x.rank()), 1);
  for (int i = x.rank() - 1; i > 0; --i) strides[size_t(i - 1)] = strides[size_t(i)] * x[i];
  StridedWalk walk;
  for (int64_t axis : node.attributes.integers("permutation")) {
    walk.append(x[int(axis)], strides[size_t(axis)], 0);
  }
  return walk;
}

namespace {

Shape with_extent(const Shape& shape, int64_t axis, int64_t extent) {
  std::vector<int64_t> extents(shape.extents().begin(), shape.extents().end());
  extents[size_t(axis)] = extent;
  return Shape(extents);
}

std::vector<TensorType> infer_reshape(const InferInput& in) {
  Shape shape(in.attributes.integers("shape"));
  if (shape.elements() != in.inputs[0].shape.elements()) {
    fail(ErrorKind::InvalidArgument, "x is {} with {} elements, shape {} has {}",
         to_string(in.inputs[0]), in.inputs[0].shape.elements(), to_string(shape),
         shape.elements());
  }
  return {{in.inputs[0].dtype, shape}};
}

std::vector<TensorType> infer_transpose(const InferInput& in) {
  const Shape& x = in.inputs[0].shape;
  const std::vector<int64_t>& permutation = in.attributes.integers("permutation");
  std::vector<int64_t> sorted = permutation, expected(size_t(x.rank()));
  std::sort(sorted.begin(), sorted.end());
  std::iota(expected.begin(), expected.end(), int64_t{0});
  if (sorted != expected) {
    fail(ErrorKind::InvalidArgument, "permutation [{}] of {}, expected each of its {} axes once",
         fmt::join(permutation, ","), to_string(in.inputs[0]), x.rank());
  }
  std::vector<int64_t> extents;
  for (int64_t axis : permutation) extents.push_back(x[int(axis)]);
  return {{in.inputs[0].dtype, Shape(extents)}};
}

std::vector<TensorType> infer_slice(const InferInput& in) {
  const TensorType& x = in.inputs[0];
  int64_t axis = in.attributes.integer("axis");
  int64_t start = in.attributes.integer("start"), size = in.attributes.integer("size");
  int64_t extent = axis_view(x.shape, axis).extent;
  if (start < 0 || size < 0 || start > extent || size > extent - start) {
    fail(ErrorKind::InvalidArgument, "x is {}: {} from {} on exceed the {} of axis {}",
         to_string(x), size, start, extent, axis);
  }
  return {{x.dtype, with_extent(x.shape, axis, size)}};
}

std::vector<TensorType> infer_pad(const InferInput& in) {
  const TensorType& x = in.inputs[0];
  int64_t axis = in.attributes.integer("axis");
  int64_t before = in.attributes.integer("before"), after = in.attributes.integer("after");
  int64_t extent = axis_view(x.shape, axis).extent;
  if (before < 0 || after < 0) {
    fail(ErrorKind::InvalidArgument, "x is {}: {} before and {} after, expected none below 0",
         to_string(x), before, after);
  }
  return {{x.dtype, with_extent(x.shape, axis, before + extent + after)}};
}

std::vector<TensorType> infer_concat(const InferInput& in) {
  int64_t axis = in.attributes.integer("axis");
  const TensorType& first = in.inputs[0];
  int64_t extent = 0;
  for (const TensorType& x : in.inputs) {
    bool fits = x.dtype == first.dtype && x.shape.rank() == first.shape.rank();
    // Throws where the first has no such axis.
    int64_t own = axis_view(fits ? x.shape : first.shape, axis).extent;
    if (!fits || with_extent(x.shape, axis, 0) != with_extent(first.shape, axis, 0)) {
      fail(ErrorKind::InvalidArgument, "{} beside {}: expected equal extents but for axis {}",
           to_string(x), to_string(first), axis);
    }
    extent += own;
  }
  return {{first.dtype, with_extent(first.shape, axis, extent)}};
}

std::vector<TensorType> infer_broadcast(const InferInput& in) {
  Shape shape(in.attributes.integers("shape"));
  if (!broadcasts_to(in.inputs[0].shape, shape)) {
    fail(ErrorKind::InvalidArgument, "x is {}, which does not broadcast to {}",
         to_string(in.inputs[0]), to_string(shape));
  }
  return {{in.inputs[0].dtype, shape}};
}

}  // namespace

std::vector<OpInfo> layout_ops() {
  const AttributeInfo axis = {"axis", AttributeType::Int, {}};
  const AttributeInfo shape = {"shape", AttributeType::Ints, {}};
  return {
      // The same elements in the same order: where x dies here, nothing is moved.
      {.kind = OpKind::Reshape,
       .name = "reshape",
       .inputs = {"x"},
       .outputs = {"y"},
       .attributes = {shape},
       .infer = infer_reshape,
       .in_place = {{0, 0}},
       .half_operands = 1,
       .autocast = Autocast::Follow},
      // Axis i of y is axis permutation[i] of x.
      {.kind = OpKind::Transpose,
       .name = "transpose",
       .inputs = {"x"},
       .outputs = {"y"},
       .attributes = {{"permutation", AttributeType::Ints, {}}},
       .infer = infer_transpose,
       .half_operands = 1,
       .autocast = Autocast::Follow},
      // `size` entries of an axis from `start` on.
      {.kind = OpKind::Slice,
       .name = "slice",
       .inputs = {"x"},
       .outputs = {"y"},
       .attributes = {axis, {"start", AttributeType::Int, {}}, {"size", AttributeType::Int, {}}},
       .infer = infer_slice,
       .half_operands = 1,
       .autocast = Autocast::Follow},
      // Zeros before and after an axis.
      {.kind = OpKind::Pad,
       .name = "pad",
       .inputs = {"x"},
       .outputs = {"y"},
       .attributes = {axis,
                      {"before", AttributeType::Int, AttributeValue(int64_t{0})},
                      {"after", AttributeType::Int, AttributeValue(int64_t{0})}},
       .infer = infer_pad,
       .half_operands = 1,
       .autocast = Autocast::Follow},
      // One behind the other along an axis.
      {.kind = OpKind::Concat,
       .name = "concat",
       .inputs = {"x"},
       .outputs = {"y"},
       .attributes = {axis},
       .infer = infer_concat,
       .variadic = true,
       .half_operands = 1,
       .autocast = Autocast::Follow},
      // Repeated along axes that are missing or 1 long. Cheaper made twice than kept alive.
      {.kind = OpKind::Broadcast,
       .name = "broadcast",
       .inputs = {"x"},
       .outputs = {"y"},
       .attributes = {shape},
       .infer = infer_broadcast,
       .mergeable = false,
       .half_operands = 1,
       .autocast = Autocast::Follow},
  };
}

}  // namespace pounce
