#include "autodiff/rules.h"

namespace pounce {

std::vector<Value> conv2d_vjp(const VjpContext& context) {
  const Node& node = context.node;
  Value x = node.inputs[0], weights = node.inputs[1], grad = context.grad_outputs[0];
  std::vector<Value> grads(2);
  if (context.needed[1]) {
    const Shape& shape = context.graph.shape(weights);
    Attributes attributes = node.attributes;
    attributes.set("kernel", std::vector<int64_t>{shape[1], shape[2]});
    grads[1] = context.graph.add_one(OpKind::Conv2dBwdWeights, {x, grad}, attributes, node.name);
  }
  if (context.needed[0]) {
    const Shape& shape = context.graph.shape(x);
    Attributes attributes = node.attributes;
    attributes.set("height", shape[1]);
    attributes.set("width", shape[2]);
    grads[0] = context.graph.add_one(OpKind::Conv2dBwdData, {grad, weights}, attributes, node.name);
  }
  return grads;
}

}  // namespace pounce
