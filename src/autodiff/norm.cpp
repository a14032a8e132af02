#include "autodiff/rules.h"

namespace pounce {

// Outputs mean and inv_std are saved for this rule alone; running statistics carry no gradient.
std::vector<Value> batch_norm_vjp(const VjpContext& context) {
  const Node& node = context.node;
  std::vector<Value> grads(5);
  if (!context.grad_outputs[0].valid()) return grads;
  std::vector<Value> made = context.graph.add(
      OpKind::BatchNormBwd,
      {context.grad_outputs[0], node.inputs[0], node.inputs[1], node.outputs[1], node.outputs[2]},
      {}, node.name);
  for (size_t i = 0; i < 3; ++i) grads[i] = made[i];
  return grads;
}

// As above, over rows.
std::vector<Value> layer_norm_vjp(const VjpContext& context) {
  const Node& node = context.node;
  std::vector<Value> grads(3);
  if (!context.grad_outputs[0].valid()) return grads;
  return context.graph.add(
      OpKind::LayerNormBwd,
      {context.grad_outputs[0], node.inputs[0], node.inputs[1], node.outputs[1], node.outputs[2]},
      {}, node.name);
}

}  // namespace pounce
