#include "passes/rename_variables.h"

#include "passes/copier.h"

namespace pounce {

Graph rename_variables(const Graph& graph,
                       const std::function<std::string(const std::string&)>& rename) {
  GraphCopier copier(graph);
  for (const Node& node : graph.nodes()) {
    if (node.op != OpKind::Variable) {
      copier.copy(node);
      continue;
    }
    Value variable = node.outputs[0];
    copier.map(variable, copier.result().add_variable(rename(node.name), graph.type(variable),
                                                      graph.role(variable)));
  }
  return copier.finish();
}

}  // namespace pounce
