#include <unordered_map>

#include <fmt/format.h>

#include "passes/copier.h"
#include "passes/pass.h"

namespace pounce {
namespace {

std::string key_of(const Node& node, const std::vector<Value>& inputs) {
  std::string key = fmt::format("{}(", int(node.op));
  for (Value value : inputs) key += fmt::format("{},", value.id);
  return key + to_string(node.attributes);
}

}  // namespace

// Nodes of the same op, attributes and inputs compute the same: the first one serves all.
Graph merge_common_subexpressions(const Graph& graph) {
  GraphCopier copier(graph);
  std::unordered_map<std::string, const Node*> first;
  for (const Node& node : graph.nodes()) {
    if (!op_info(node.op).mergeable) {
      copier.copy(node);
      continue;
    }
    auto [at, is_new] = first.emplace(key_of(node, copier.mapped_inputs(node)), &node);
    if (is_new) {
      copier.copy(node);
      continue;
    }
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      copier.map(node.outputs[i], copier.mapped(at->second->outputs[i]));
    }
  }
  return copier.finish();
}

}  // namespace pounce
