#include "autodiff/rules.h"
#include "ir/layout_params.h"

namespace pounce {
namespace {

// The gradient repeated over what was reduced.
Value spread(const VjpContext& context, Value gradient) {
  const Shape x = context.graph.shape(context.node.inputs[0]);
  const std::vector<int64_t>& axes = context.node.attributes.integers("axes");
  Value kept = reshaped(context.graph, gradient, reduced_shape(x, axes, true));
  if (context.graph.shape(kept) == x) return kept;
  return context.graph.add_one(OpKind::Broadcast, {kept}, {{"shape", extents_of(x)}},
                               context.node.name);
}

}  // namespace

std::vector<Value> reduce_sum_vjp(const VjpContext& context) {
  return {spread(context, context.grad_outputs[0])};
}

std::vector<Value> reduce_mean_vjp(const VjpContext& context) {
  const TensorType& x = context.graph.type(context.node.inputs[0]);
  int64_t count = reduced_elements(x.shape, context.node.attributes.integers("axes"));
  Value divisor = context.graph.add_one(OpKind::Fill, {},
                                        {{"value", double(count)},
                                         {"shape", std::vector<int64_t>{}},
                                         {"dtype", std::string(dtype_name(x.dtype))}});
  // Divided while it is small.
  return {spread(context, context.graph.add_one(OpKind::Div, {context.grad_outputs[0], divisor}))};
}

std::vector<Value> reduce_max_vjp(const VjpContext& context) {
  const Node& node = context.node;
  return {context.graph.add_one(OpKind::ReduceMaxBwd,
                                {context.grad_outputs[0], node.inputs[0], node.outputs[0]},
                                node.attributes, node.name)};
}

std::vector<Value> softmax_vjp(const VjpContext& context) {
  OpKind backward = context.node.op == OpKind::Softmax ? OpKind::SoftmaxBwd : OpKind::LogSoftmaxBwd;
  return {context.graph.add_one(backward, {context.grad_outputs[0], context.node.outputs[0]}, {},
                                context.node.name)};
}

}  // namespace pounce
