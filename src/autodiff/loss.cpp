#include "autodiff/rules.h"

namespace pounce {

// Targets and sample weights are data: they carry no gradient.
std::vector<Value> cross_entropy_vjp(const VjpContext& context) {
  const Node& node = context.node;
  return {
      context.graph.add_one(
          OpKind::CrossEntropyBwd,
          {context.grad_outputs[0], node.inputs[0], node.inputs[1], node.inputs[2]}, {}, node.name),
      {},
      {}};
}

}  // namespace pounce
