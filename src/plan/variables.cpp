#include "base/error.h"
#include "plan/plan.h"

namespace pounce {
namespace {

class LayoutBuilder {
 public:
  explicit LayoutBuilder(size_t alignment) : alignment_(alignment) {}

  void add(const Graph& graph, Value variable) {
    const std::string& name = graph.nodes()[size_t(graph.producer(variable))].name;
    const TensorType& type = graph.type(variable);
    auto [at, is_new] = types_.emplace(name, type);
    if (!is_new) {
      if (at->second != type) {
        fail(ErrorKind::InvalidArgument, "variable \"{}\" is {} in one program and {} in another",
             name, to_string(at->second), to_string(type));
      }
      return;
    }
    size_t bytes = size_t(type.bytes());
    layout_.placements[name] = {Arena::Persistent, layout_.bytes, bytes};
    layout_.bytes += align_up(bytes, alignment_);
  }
  VariableLayout& layout() { return layout_; }

 private:
  size_t alignment_;
  VariableLayout layout_;
  std::map<std::string, TensorType> types_;
};

bool is_gradient(const Graph& graph, Value variable) {
  return graph.role(variable) == VariableRole::Gradient;
}

}  // namespace

VariableLayout lay_out_variables(const std::vector<const Graph*>& graphs, size_t alignment) {
  LayoutBuilder builder(alignment);
  auto add_leaves = [&](const Graph& graph, bool gradients) {
    for (const Node& node : graph.nodes()) {
      if (node.op == OpKind::Variable && is_gradient(graph, node.outputs[0]) == gradients) {
        builder.add(graph, node.outputs[0]);
      }
    }
  };
  for (const Graph* graph : graphs) add_leaves(*graph, false);
  VariableLayout& layout = builder.layout();
  layout.gradients_offset = layout.bytes;
  for (const Graph* graph : graphs) {
    std::map<int, Value> by_completion;
    for (const Store& store : graph->stores()) {
      if (is_gradient(*graph, store.variable)) {
        by_completion.emplace(graph->producer(store.value), store.variable);
      }
    }
    for (const auto& [node, variable] : by_completion) builder.add(*graph, variable);
    add_leaves(*graph, true);
  }
  layout.gradients_bytes = layout.bytes - layout.gradients_offset;
  return layout;
}

}  // namespace pounce
