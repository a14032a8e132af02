#include "passes/copier.h"
#include "passes/pass.h"

namespace pounce {

// Keeps what stores and outputs need, and every input: inputs are the program's interface.
Graph eliminate_dead_code(const Graph& graph) {
  std::vector<char> needed(size_t(graph.value_count()));
  for (const Store& store : graph.stores()) {
    needed[size_t(store.variable.id)] = needed[size_t(store.value.id)] = 1;
  }
  for (const Output& output : graph.outputs()) needed[size_t(output.value.id)] = 1;
  std::vector<char> keep(graph.nodes().size());
  for (size_t i = graph.nodes().size(); i-- > 0;) {
    const Node& node = graph.nodes()[i];
    keep[i] = node.op == OpKind::Input;
    for (Value value : node.outputs) keep[i] = char(keep[i] | needed[size_t(value.id)]);
    if (!keep[i]) continue;
    for (Value value : node.inputs) needed[size_t(value.id)] = 1;
  }
  GraphCopier copier(graph);
  for (size_t i = 0; i < keep.size(); ++i) {
    if (keep[i]) copier.copy(graph.nodes()[i]);
  }
  return copier.finish();
}

}  // namespace pounce
