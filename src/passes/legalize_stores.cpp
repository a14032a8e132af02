#include <algorithm>
#include <set>

#include "passes/copier.h"
#include "passes/pass.h"

namespace pounce {
namespace {

std::vector<int> find_last_readers(const Graph& graph) {
  std::vector<int> last(size_t(graph.value_count()), -1);
  for (int i = 0; i < int(graph.nodes().size()); ++i) {
    for (Value value : graph.nodes()[size_t(i)].inputs) last[size_t(value.id)] = i;
  }
  return last;
}

// Every implementation may write the stored value over the variable's old one.
bool may_write_over(const Node& node, Value value, Value variable) {
  if (std::count(node.inputs.begin(), node.inputs.end(), variable) != 1) return false;
  for (const Alias& alias : op_info(node.op).in_place) {
    if (node.outputs[size_t(alias.output)] == value &&
        node.inputs[size_t(alias.input)] == variable) {
      return true;
    }
  }
  return false;
}

bool may_lie_in_place(const Graph& graph, const Store& store, int last_reader) {
  int made = graph.producer(store.value);
  const Node& node = graph.nodes()[size_t(made)];
  if (node.op == OpKind::Input || node.op == OpKind::Variable) return false;
  return last_reader < made ||
         (last_reader == made && may_write_over(node, store.value, store.variable));
}

bool is_output(const Graph& graph, Value value) {
  return std::any_of(graph.outputs().begin(), graph.outputs().end(),
                     [&](const Output& output) { return output.value == value; });
}

}  // namespace

// A stored value is computed in its variable's memory. Where that is impossible (the old value is
// still read, the value is a leaf or goes to two variables), a copy at the end takes its place.
Graph legalize_stores(const Graph& graph) {
  GraphCopier copier(graph);
  for (const Node& node : graph.nodes()) copier.copy(node);
  Graph& result = copier.result();
  std::vector<int> last_readers = find_last_readers(graph);
  std::set<Value> placed;
  std::vector<std::pair<Value, Value>> stores;  // variable, value to copy; invalid: in place
  for (const Store& store : graph.stores()) {
    Value variable = copier.mapped(store.variable), value = copier.mapped(store.value);
    bool in_place = may_lie_in_place(graph, store, last_readers[size_t(store.variable.id)]) &&
                    placed.insert(store.value).second && !is_output(graph, store.variable);
    if (in_place) {
      result.store(variable, value);
      continue;
    }
    // Another copy may overwrite a variable before this one reads it: take its value first.
    if (graph.is_variable(store.value)) value = result.add_one(OpKind::Copy, {value});
    stores.emplace_back(variable, value);
  }
  for (const auto& [variable, value] : stores) {
    result.store(variable, result.add_one(OpKind::Copy, {value}));
  }
  for (const Output& output : graph.outputs()) {
    result.add_output(output.name, copier.mapped(output.value));
  }
  return std::move(result);
}

}  // namespace pounce
