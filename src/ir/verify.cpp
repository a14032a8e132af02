#include "ir/verify.h"

#include <algorithm>
#include <set>

#include "base/error.h"

namespace pounce {
namespace {

// A shape the rule rejects is a broken graph here, not a caller's mistake.
std::vector<TensorType> infer_types(const Graph& graph, const Node& node,
                                    const std::vector<TensorType>& inputs) {
  try {
    return op_info(node.op).infer({inputs, node.attributes});
  } catch (const Error& error) {
    fail(ErrorKind::Internal, "{} ({}): {}", graph.describe(node), op_info(node.op).name,
         error.message());
  }
}

void verify_attributes(const Graph& graph, const Node& node) {
  const OpInfo& info = op_info(node.op);
  for (const AttributeInfo& row : info.attributes) {
    const AttributeValue* value = node.attributes.find(row.name);
    if (value == nullptr || value->index() != size_t(row.type)) {
      fail(ErrorKind::Internal, "{}: attribute {} is absent or of another type",
           graph.describe(node), row.name);
    }
  }
  for (const auto& [name, value] : node.attributes.entries()) {
    bool known = std::any_of(info.attributes.begin(), info.attributes.end(),
                             [&](const AttributeInfo& row) { return row.name == name; });
    if (!known) {
      fail(ErrorKind::Internal, "{}: attribute {} is none of {}", graph.describe(node), name,
           info.name);
    }
  }
}

void verify_node(const Graph& graph, int index) {
  const Node& node = graph.nodes()[size_t(index)];
  const OpInfo& info = op_info(node.op);
  std::vector<TensorType> types;
  for (Value value : node.inputs) {
    if (value.id < 0 || value.id >= graph.value_count() || graph.producer(value) >= index) {
      fail(ErrorKind::Internal, "{}: input %{} is not made by an earlier node",
           graph.describe(node), value.id);
    }
    types.push_back(graph.type(value));
  }
  verify_attributes(graph, node);
  if (node.outputs.size() != info.outputs.size() || !accepts_inputs(info, node.inputs.size())) {
    fail(ErrorKind::Internal, "{} \"{}\": {} inputs and {} outputs, expected {} and {}", info.name,
         node.name, node.inputs.size(), node.outputs.size(), info.inputs.size(),
         info.outputs.size());
  }
  for (Value value : node.outputs) {
    if (value.id < 0 || value.id >= graph.value_count() || graph.producer(value) != index) {
      fail(ErrorKind::Internal, "{}: output %{} is not its own", op_info(node.op).name, value.id);
    }
  }
  if (info.infer == nullptr) return;
  types = infer_types(graph, node, types);
  for (size_t i = 0; i < types.size(); ++i) {
    if (types[i] != graph.type(node.outputs[i])) {
      fail(ErrorKind::Internal, "{}: output {} is {}, the op table infers {}", graph.describe(node),
           i, to_string(graph.type(node.outputs[i])), to_string(types[i]));
    }
  }
}

}  // namespace

void verify_graph(const Graph& graph) {
  for (int i = 0; i < int(graph.nodes().size()); ++i) verify_node(graph, i);
  auto exists = [&](Value value) { return value.id >= 0 && value.id < graph.value_count(); };
  std::set<Value> stored;
  for (const Store& store : graph.stores()) {
    if (!exists(store.variable) || !exists(store.value) || !graph.is_variable(store.variable) ||
        graph.type(store.variable) != graph.type(store.value) ||
        !stored.insert(store.variable).second) {
      fail(ErrorKind::Internal, "store %{} <- %{}: expected one store of the variable's type",
           store.variable.id, store.value.id);
    }
  }
  for (const Output& output : graph.outputs()) {
    if (!exists(output.value)) {
      fail(ErrorKind::Internal, "output \"{}\" is no value of the graph", output.name);
    }
  }
}

}  // namespace pounce
