#include "autodiff/rules.h"

namespace pounce {

std::vector<Value> add_vjp(const VjpContext& context) {
  return {context.grad_outputs[0], context.grad_outputs[0]};
}

std::vector<Value> mul_vjp(const VjpContext& context) {
  std::vector<Value> grads(2);
  for (size_t i = 0; i < 2; ++i) {
    if (!context.needed[i]) continue;
    grads[i] =
        context.graph.add_one(OpKind::Mul, {context.grad_outputs[0], context.node.inputs[1 - i]});
  }
  return grads;
}

std::vector<Value> relu_vjp(const VjpContext& context) {
  return {context.graph.add_one(OpKind::ReluBwd, {context.grad_outputs[0], context.node.outputs[0]},
                                {}, context.node.name)};
}

std::vector<Value> copy_vjp(const VjpContext& context) {
  return {context.grad_outputs[0]};
}

}  // namespace pounce
