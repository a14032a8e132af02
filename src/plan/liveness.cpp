#include "plan/liveness.h"

#include <algorithm>

namespace pounce {

std::vector<Lifetime> find_lifetimes(const Graph& graph) {
  std::vector<Lifetime> lifetimes(size_t(graph.value_count()));
  int end = int(graph.nodes().size());
  for (int i = 0; i < end; ++i) {
    const Node& node = graph.nodes()[size_t(i)];
    bool leaf = is_leaf(node.op);
    for (Value value : node.outputs) {
      lifetimes[size_t(value.id)] = leaf ? Lifetime{-1, -1} : Lifetime{i, i};
      if (node.op == OpKind::Variable) lifetimes[size_t(value.id)].last = end;
    }
  }
  for (const Store& store : graph.stores()) lifetimes[size_t(store.variable.id)].last = -1;
  for (int i = 0; i < end; ++i) {
    for (Value value : graph.nodes()[size_t(i)].inputs) {
      Lifetime& lifetime = lifetimes[size_t(value.id)];
      lifetime.last = std::max(lifetime.last, i);
    }
  }
  for (const Store& store : graph.stores()) lifetimes[size_t(store.value.id)].last = end;
  for (const Output& output : graph.outputs()) lifetimes[size_t(output.value.id)].last = end;
  return lifetimes;
}

}  // namespace pounce
