#include "autodiff/autodiff.h"

#include <algorithm>

#include "autodiff/rules.h"
#include "base/error.h"

namespace pounce {
namespace {

// By Value id: whether the value depends on one of `wanted`.
std::vector<char> find_dependents(const Graph& graph, std::span<const Value> wanted) {
  std::vector<char> depends(size_t(graph.value_count()));
  for (Value value : wanted) depends[size_t(value.id)] = 1;
  for (const Node& node : graph.nodes()) {
    bool any = std::any_of(node.inputs.begin(), node.inputs.end(),
                           [&](Value value) { return depends[size_t(value.id)]; });
    for (Value value : node.outputs) depends[size_t(value.id)] |= char(any);
  }
  return depends;
}

class BackwardBuilder {
 public:
  BackwardBuilder(Graph& graph, std::span<const Value> wanted)
      : graph_(graph),
        depends_(find_dependents(graph, wanted)),
        gradient_(size_t(graph.value_count())) {}

  void add_gradient(Value value, Value gradient) {
    if (graph_.type(value) != graph_.type(gradient)) {
      fail(ErrorKind::Internal, "the gradient of %{} is {}, the value {}", value.id,
           to_string(graph_.type(gradient)), to_string(graph_.type(value)));
    }
    Value& sum = gradient_[size_t(value.id)];
    sum = sum.valid() ? graph_.add_one(OpKind::Add, {sum, gradient}) : gradient;
  }

  void run() {
    for (size_t i = graph_.nodes().size(); i-- > 0;) {
      // A copy: the graph grows while the rule runs.
      Node node = graph_.nodes()[i];
      visit(node);
    }
  }

  Value gradient(Value value) {
    Value found = gradient_[size_t(value.id)];
    if (found.valid()) return found;
    const TensorType& type = graph_.type(value);
    std::vector<int64_t> extents(type.shape.extents().begin(), type.shape.extents().end());
    return graph_.add_one(
        OpKind::Fill, {},
        {{"value", 0.0}, {"shape", extents}, {"dtype", std::string(dtype_name(type.dtype))}});
  }

 private:
  void visit(const Node& node) {
    std::vector<Value> grad_outputs;
    for (Value value : node.outputs) grad_outputs.push_back(gradient_[size_t(value.id)]);
    std::vector<char> needed;
    for (Value value : node.inputs) needed.push_back(depends_[size_t(value.id)]);
    auto is_valid = [](Value value) { return value.valid(); };
    if (std::none_of(grad_outputs.begin(), grad_outputs.end(), is_valid) ||
        std::none_of(needed.begin(), needed.end(), [](char each) { return each; })) {
      return;
    }
    VjpRule rule = find_rule(node.op);
    if (rule == nullptr) {
      fail(ErrorKind::Internal, "{} ({}) has no gradient rule", graph_.describe(node),
           op_info(node.op).name);
    }
    std::vector<Value> grads = rule({graph_, node, grad_outputs, needed});
    POUNCE_ASSERT(grads.size() == node.inputs.size());
    for (size_t i = 0; i < grads.size(); ++i) {
      if (needed[i] && grads[i].valid()) add_gradient(node.inputs[i], grads[i]);
    }
  }

  Graph& graph_;
  std::vector<char> depends_;
  std::vector<Value> gradient_;  // by Value id of the forward graph
};

}  // namespace

std::vector<Value> gradients(Graph& graph, std::span<const Value> outputs,
                             std::span<const Value> cotangents, std::span<const Value> wanted) {
  POUNCE_ASSERT(outputs.size() == cotangents.size());
  BackwardBuilder builder(graph, wanted);
  for (size_t i = 0; i < outputs.size(); ++i) builder.add_gradient(outputs[i], cotangents[i]);
  builder.run();
  std::vector<Value> grads;
  for (Value value : wanted) grads.push_back(builder.gradient(value));
  return grads;
}

bool is_differentiable(OpKind op) {
  return find_rule(op) != nullptr;
}

}  // namespace pounce
