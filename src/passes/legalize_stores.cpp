#include <algorithm>
#include <map>
#include <set>

#include "passes/copier.h"
#include "passes/pass.h"

namespace pounce {
namespace {

// By Value id; the number of nodes where an output or a store reads the value at the end.
std::vector<int> find_last_readers(const Graph& graph) {
  std::vector<int> last(size_t(graph.value_count()), -1);
  int end = int(graph.nodes().size());
  for (int i = 0; i < end; ++i) {
    for (Value value : graph.nodes()[size_t(i)].inputs) last[size_t(value.id)] = i;
  }
  for (const Store& store : graph.stores()) last[size_t(store.value.id)] = end;
  for (const Output& output : graph.outputs()) last[size_t(output.value.id)] = end;
  return last;
}

// Every implementation may write the stored value over the variable's old one.
bool may_write_over(const Node& node, Value value, Value variable) {
  if (std::count(node.inputs.begin(), node.inputs.end(), variable) != 1) return false;
  for (const Alias& alias : in_place_of(node)) {
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
  if (is_leaf(node.op)) return false;
  return last_reader < made ||
         (last_reader == made && may_write_over(node, store.value, store.variable));
}

// A store of its own value changes nothing.
bool has_store(const Graph& graph, Value variable) {
  return std::any_of(graph.stores().begin(), graph.stores().end(), [&](const Store& store) {
    return store.variable == variable && store.value != variable;
  });
}

// The old values of variables that are stored to, copied before any store overwrites them.
class OldValues {
 public:
  OldValues(const Graph& source, GraphCopier& copier) : source_(source), copier_(copier) {}

  // What `value` of the source is in the result at the end of the program.
  Value at_end(Value value) {
    Value mapped = copier_.mapped(value);
    if (!source_.is_variable(value) || !has_store(source_, value)) return mapped;
    auto [at, is_new] = copies_.emplace(value, Value{});
    if (is_new) at->second = copier_.result().add_one(OpKind::Copy, {mapped});
    return at->second;
  }

 private:
  const Graph& source_;
  GraphCopier& copier_;
  std::map<Value, Value> copies_;
};

}  // namespace

// A stored value is computed in its variable's memory. Where that is impossible (the old value is
// still read, the value is a leaf or goes to two variables), a copy at the end takes its place.
Graph legalize_stores(const Graph& graph) {
  GraphCopier copier(graph);
  for (const Node& node : graph.nodes()) copier.copy(node);
  Graph& result = copier.result();
  OldValues old_values(graph, copier);
  std::vector<int> last_readers = find_last_readers(graph);
  std::set<Value> placed;
  std::vector<std::pair<Value, Value>> stores;  // variable, value to copy
  for (const Store& store : graph.stores()) {
    if (store.variable == store.value) continue;
    Value variable = copier.mapped(store.variable);
    if (may_lie_in_place(graph, store, last_readers[size_t(store.variable.id)]) &&
        placed.insert(store.value).second) {
      result.store(variable, copier.mapped(store.value));
    } else {
      stores.emplace_back(variable, old_values.at_end(store.value));
    }
  }
  for (const Output& output : graph.outputs()) {
    result.add_output(output.name, old_values.at_end(output.value));
  }
  for (const auto& [variable, value] : stores) {
    result.store(variable, result.add_one(OpKind::Copy, {value}));
  }
  return std::move(result);
}

}  // namespace pounce
