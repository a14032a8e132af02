#include "autodiff/rules.h"

namespace pounce {

std::vector<Value> max_pool_vjp(const VjpContext& context) {
  const Node& node = context.node;
  if (!context.grad_outputs[0].valid()) return {Value{}};
  const Shape& shape = context.graph.shape(node.inputs[0]);
  Attributes attributes = node.attributes;
  attributes.set("height", shape[1]);
  attributes.set("width", shape[2]);
  return {context.graph.add_one(OpKind::MaxPoolBwd, {context.grad_outputs[0], node.outputs[1]},
                                attributes, node.name)};
}

std::vector<Value> avg_pool_vjp(const VjpContext& context) {
  const Shape& shape = context.graph.shape(context.node.inputs[0]);
  Attributes attributes = context.node.attributes;
  attributes.set("height", shape[1]);
  attributes.set("width", shape[2]);
  return {context.graph.add_one(OpKind::AvgPoolBwd, {context.grad_outputs[0]}, attributes,
                                context.node.name)};
}

std::vector<Value> global_avg_pool_vjp(const VjpContext& context) {
  const Shape& shape = context.graph.shape(context.node.inputs[0]);
  return {context.graph.add_one(OpKind::GlobalAvgPoolBwd, {context.grad_outputs[0]},
                                {{"height", shape[1]}, {"width", shape[2]}}, context.node.name)};
}

}  // namespace pounce
