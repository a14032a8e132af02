#include "autodiff/rules.h"
#include "base/error.h"

namespace pounce {
namespace {

// The gradient of input `index` of broadcast arithmetic, from that of its repeated form.
Value for_input(const VjpContext& context, size_t index, Value gradient) {
  return sum_to_shape(context.graph, gradient, context.graph.shape(context.node.inputs[index]));
}

Value negated(const VjpContext& context, Value value) {
  return context.graph.add_one(OpKind::Neg, {value});
}

// max(a, b), or min(a, b) with the shares exchanged.
std::vector<Value> extremum_vjp(const VjpContext& context, bool is_max) {
  std::vector<Value> grads(2);
  for (size_t i = 0; i < 2; ++i) {
    if (!context.needed[i]) continue;
    Value own = context.node.inputs[i], other = context.node.inputs[1 - i];
    Value share =
        context.graph.add_one(OpKind::MaxShare, {is_max ? own : other, is_max ? other : own});
    Value grad = context.graph.add_one(OpKind::Mul, {context.grad_outputs[0], share});
    grads[i] = for_input(context, i, grad);
  }
  return grads;
}

struct UnaryRule {
  OpKind backward;
  bool reads_output;  // else the input
};

UnaryRule unary_rule(OpKind op) {
  switch (op) {
    case OpKind::Sqrt:
      return {OpKind::SqrtBwd, true};
    case OpKind::Rsqrt:
      return {OpKind::RsqrtBwd, true};
    case OpKind::Sigmoid:
      return {OpKind::SigmoidBwd, true};
    case OpKind::Tanh:
      return {OpKind::TanhBwd, true};
    case OpKind::Silu:
      return {OpKind::SiluBwd, false};
    case OpKind::Gelu:
      return {OpKind::GeluBwd, false};
    case OpKind::GeluTanh:
      return {OpKind::GeluTanhBwd, false};
    case OpKind::HardSigmoid:
      return {OpKind::HardSigmoidBwd, false};
    case OpKind::HardSwish:
      return {OpKind::HardSwishBwd, false};
    default:
      fail(ErrorKind::Internal, "{} has no backward formula", op_info(op).name);
  }
}

}  // namespace

std::vector<Value> add_vjp(const VjpContext& context) {
  std::vector<Value> grads(2);
  for (size_t i = 0; i < 2; ++i) {
    if (context.needed[i]) grads[i] = for_input(context, i, context.grad_outputs[0]);
  }
  return grads;
}

std::vector<Value> sub_vjp(const VjpContext& context) {
  std::vector<Value> grads = add_vjp(context);
  if (context.needed[1]) grads[1] = negated(context, grads[1]);
  return grads;
}

std::vector<Value> mul_vjp(const VjpContext& context) {
  std::vector<Value> grads(2);
  for (size_t i = 0; i < 2; ++i) {
    if (!context.needed[i]) continue;
    Value grad =
        context.graph.add_one(OpKind::Mul, {context.grad_outputs[0], context.node.inputs[1 - i]});
    grads[i] = for_input(context, i, grad);
  }
  return grads;
}

// y = a / b: grad_a = grad / b and grad_b = -y grad / b.
std::vector<Value> div_vjp(const VjpContext& context) {
  const Node& node = context.node;
  Value quotient =
      context.graph.add_one(OpKind::Div, {context.grad_outputs[0], node.inputs[1]}, {}, node.name);
  std::vector<Value> grads(2);
  if (context.needed[0]) grads[0] = for_input(context, 0, quotient);
  if (context.needed[1]) {
    Value product = context.graph.add_one(OpKind::Mul, {quotient, node.outputs[0]});
    grads[1] = negated(context, for_input(context, 1, product));
  }
  return grads;
}

std::vector<Value> max_vjp(const VjpContext& context) {
  return extremum_vjp(context, true);
}

std::vector<Value> min_vjp(const VjpContext& context) {
  return extremum_vjp(context, false);
}

std::vector<Value> neg_vjp(const VjpContext& context) {
  return {negated(context, context.grad_outputs[0])};
}

std::vector<Value> exp_vjp(const VjpContext& context) {
  return {context.graph.add_one(OpKind::Mul, {context.grad_outputs[0], context.node.outputs[0]})};
}

std::vector<Value> log_vjp(const VjpContext& context) {
  return {context.graph.add_one(OpKind::Div, {context.grad_outputs[0], context.node.inputs[0]})};
}

std::vector<Value> relu_vjp(const VjpContext& context) {
  return {context.graph.add_one(OpKind::ReluBwd, {context.grad_outputs[0], context.node.outputs[0]},
                                {}, context.node.name)};
}

std::vector<Value> unary_vjp(const VjpContext& context) {
  const Node& node = context.node;
  UnaryRule rule = unary_rule(node.op);
  Value saved = rule.reads_output ? node.outputs[0] : node.inputs[0];
  return {context.graph.add_one(rule.backward, {context.grad_outputs[0], saved}, {}, node.name)};
}

std::vector<Value> copy_vjp(const VjpContext& context) {
  return {context.grad_outputs[0]};
}

// Back to the type of what was cast.
std::vector<Value> cast_vjp(const VjpContext& context) {
  DType dtype = context.graph.type(context.node.inputs[0]).dtype;
  return {context.graph.add_one(OpKind::Cast, {context.grad_outputs[0]},
                                {{"dtype", std::string(dtype_name(dtype))}}, context.node.name)};
}

}  // namespace pounce
