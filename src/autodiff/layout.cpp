#include "autodiff/rules.h"

namespace pounce {

std::vector<int64_t> extents_of(const Shape& shape) {
  return {shape.extents().begin(), shape.extents().end()};
}

Value reshaped(Graph& graph, Value value, Shape shape) {
  if (graph.shape(value) == shape) return value;
  return graph.add_one(OpKind::Reshape, {value}, {{"shape", extents_of(shape)}});
}

Value sum_to_shape(Graph& graph, Value gradient, Shape shape) {
  const Shape from = graph.shape(gradient);
  int added = from.rank() - shape.rank();
  std::vector<int64_t> axes;
  for (int i = 0; i < from.rank(); ++i) {
    if (from[i] != (i < added ? 1 : shape[i - added])) axes.push_back(i);
  }
  if (!axes.empty()) gradient = graph.add_one(OpKind::ReduceSum, {gradient}, {{"axes", axes}});
  return reshaped(graph, gradient, shape);
}

std::vector<Value> reshape_vjp(const VjpContext& context) {
  return {reshaped(context.graph, context.grad_outputs[0],
                   context.graph.shape(context.node.inputs[0]))};
}

std::vector<Value> transpose_vjp(const VjpContext& context) {
  const std::vector<int64_t>& permutation = context.node.attributes.integers("permutation");
  std::vector<int64_t> inverse(permutation.size());
  for (size_t i = 0; i < permutation.size(); ++i) inverse[size_t(permutation[i])] = int64_t(i);
  return {context.graph.add_one(OpKind::Transpose, {context.grad_outputs[0]},
                                {{"permutation", inverse}}, context.node.name)};
}

std::vector<Value> slice_vjp(const VjpContext& context) {
  const Attributes& attributes = context.node.attributes;
  int64_t axis = attributes.integer("axis"), start = attributes.integer("start");
  int64_t extent = context.graph.shape(context.node.inputs[0])[int(axis)];
  int64_t after = extent - start - attributes.integer("size");
  return {context.graph.add_one(OpKind::Pad, {context.grad_outputs[0]},
                                {{"axis", axis}, {"before", start}, {"after", after}},
                                context.node.name)};
}

std::vector<Value> pad_vjp(const VjpContext& context) {
  const Attributes& attributes = context.node.attributes;
  int64_t axis = attributes.integer("axis");
  int64_t size = context.graph.shape(context.node.inputs[0])[int(axis)];
  return {context.graph.add_one(
      OpKind::Slice, {context.grad_outputs[0]},
      {{"axis", axis}, {"start", attributes.integer("before")}, {"size", size}},
      context.node.name)};
}

std::vector<Value> concat_vjp(const VjpContext& context) {
  int64_t axis = context.node.attributes.integer("axis");
  std::vector<Value> grads;
  int64_t start = 0;
  for (size_t i = 0; i < context.node.inputs.size(); ++i) {
    int64_t size = context.graph.shape(context.node.inputs[i])[int(axis)];
    Attributes part = {{"axis", axis}, {"start", start}, {"size", size}};
    start += size;
    grads.push_back(context.needed[i]
                        ? context.graph.add_one(OpKind::Slice, {context.grad_outputs[0]}, part,
                                                context.node.name)
                        : Value{});
  }
  return grads;
}

std::vector<Value> broadcast_vjp(const VjpContext& context) {
  return {sum_to_shape(context.graph, context.grad_outputs[0],
                       context.graph.shape(context.node.inputs[0]))};
}

}  // namespace pounce
