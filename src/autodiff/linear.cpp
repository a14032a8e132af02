#include "autodiff/rules.h"

namespace pounce {

// y = op(a) op(b): grad op(a) = grad_y op(b)^T and grad op(b) = op(a)^T grad_y.
std::vector<Value> matmul_vjp(const VjpContext& context) {
  const Node& node = context.node;
  Value a = node.inputs[0], b = node.inputs[1], grad = context.grad_outputs[0];
  bool ta = node.attributes.integer("transpose_a") != 0;
  bool tb = node.attributes.integer("transpose_b") != 0;
  auto product = [&](Value left, bool left_t, Value right, bool right_t) {
    return context.graph.add_one(
        node.op, {left, right},
        {{"transpose_a", int64_t(left_t)}, {"transpose_b", int64_t(right_t)}}, node.name);
  };
  std::vector<Value> grads(2);
  if (context.needed[0]) {
    grads[0] = ta ? product(b, tb, grad, true) : product(grad, false, b, !tb);
  }
  if (context.needed[1]) {
    grads[1] = tb ? product(grad, true, a, ta) : product(a, !ta, grad, false);
  }
  return grads;
}

// Matrix by matrix.
std::vector<Value> batch_matmul_vjp(const VjpContext& context) {
  return matmul_vjp(context);
}

std::vector<Value> bias_add_vjp(const VjpContext& context) {
  std::vector<Value> grads = {context.grad_outputs[0], {}};
  if (context.needed[1]) {
    grads[1] =
        context.graph.add_one(OpKind::BiasBwd, {context.grad_outputs[0]}, {}, context.node.name);
  }
  return grads;
}

}  // namespace pounce
