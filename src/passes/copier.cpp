#include "passes/copier.h"

#include "base/error.h"

namespace pounce {

GraphCopier::GraphCopier(const Graph& source)
    : source_(source), map_(size_t(source.value_count())) {
  if (source.needs_batch_invariance()) result_.require_batch_invariance();
}

std::vector<Value> GraphCopier::mapped_inputs(const Node& node) const {
  std::vector<Value> inputs;
  for (Value value : node.inputs) {
    POUNCE_ASSERT(mapped(value).valid());
    inputs.push_back(mapped(value));
  }
  return inputs;
}

void GraphCopier::copy(const Node& node) {
  if (node.op == OpKind::Input) {
    map(node.outputs[0], result_.add_input(node.name, source_.type(node.outputs[0])));
    return;
  }
  if (node.op == OpKind::Variable) {
    map(node.outputs[0], result_.add_variable(node.name, source_.type(node.outputs[0]),
                                              source_.role(node.outputs[0])));
    return;
  }
  std::vector<Value> outputs =
      result_.add(node.op, mapped_inputs(node), node.attributes, node.name);
  for (size_t i = 0; i < outputs.size(); ++i) map(node.outputs[i], outputs[i]);
}

Graph GraphCopier::finish() {
  for (const Store& store : source_.stores()) {
    result_.store(mapped(store.variable), mapped(store.value));
  }
  for (const Output& output : source_.outputs()) {
    result_.add_output(output.name, mapped(output.value));
  }
  return std::move(result_);
}

}  // namespace pounce
