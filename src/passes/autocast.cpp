#include "passes/autocast.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "base/error.h"
#include "passes/copier.h"

namespace pounce {
namespace {

bool is_product(const Node& node) {
  return op_info(node.op).autocast == Autocast::Product;
}

// Products that reach an output through no other product, and all nodes of their names.
std::vector<char> find_last_layer(const Graph& graph) {
  std::vector<char> reaches(size_t(graph.value_count()));  // by Value id
  for (const Output& output : graph.outputs()) reaches[size_t(output.value.id)] = 1;
  std::vector<char> last(graph.nodes().size());
  std::set<std::string> names;
  for (size_t i = graph.nodes().size(); i-- > 0;) {
    const Node& node = graph.nodes()[i];
    bool is_seen = std::any_of(node.outputs.begin(), node.outputs.end(),
                               [&](Value value) { return reaches[size_t(value.id)]; });
    if (!is_seen) continue;
    if (is_product(node)) {
      last[i] = 1;
      if (!node.name.empty()) names.insert(node.name);
      continue;
    }
    // A measurement is no result.
    if (node.op == OpKind::LargestMagnitude) continue;
    for (Value value : node.inputs) reaches[size_t(value.id)] = 1;
  }
  for (size_t i = 0; i < last.size(); ++i) {
    const Node& node = graph.nodes()[i];
    if (is_product(node) && names.contains(node.name)) last[i] = 1;
  }
  return last;
}

// Decides which nodes compute in half.
class HalfNodes {
 public:
  HalfNodes(const Graph& graph, DType dtype)
      : graph_(graph),
        dtype_(dtype),
        last_layer_(find_last_layer(graph)),
        half_(graph.nodes().size()),
        half_value_(size_t(graph.value_count())),
        from_input_(size_t(graph.value_count())),
        uses_(size_t(graph.value_count())) {
    for (size_t i = 0; i < graph.nodes().size(); ++i) decide_by_operands(i);
    for (const Store& store : graph.stores()) uses_[size_t(store.value.id)].wide = true;
    for (const Output& output : graph.outputs()) uses_[size_t(output.value.id)].wide = true;
    for (size_t i = graph.nodes().size(); i-- > 0;) decide_by_readers(i);
  }

  bool is_half(size_t node) const { return half_[node]; }
  // Whether every reader of the node's first output takes it as it is in f32.
  bool has_wide_readers(size_t node) const {
    return !uses_[size_t(graph_.nodes()[node].outputs[0].id)].half;
  }

 private:
  struct Uses {
    bool half = false, wide = false;
  };

  // Every operand that would be half is f32 so far.
  bool has_form_in_half(const Node& node) const {
    const OpInfo& info = op_info(node.op);
    if (info.half_operands == 0) return false;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (takes_half(info, i) && graph_.type(node.inputs[i]).dtype != DType::F32) return false;
    }
    return true;
  }

  // Running sums must not lose what a half cannot hold.
  bool reads_state(const Node& node) const {
    return std::any_of(node.inputs.begin(), node.inputs.end(), [&](Value value) {
      return graph_.is_variable(value) && graph_.role(value) != VariableRole::Parameter &&
             graph_.type(value).dtype == DType::F32;
    });
  }

  bool follows(const Node& node) const {
    return op_info(node.op).autocast == Autocast::Follow && has_form_in_half(node) &&
           !(takes_all_as_half(node) && reads_state(node));
  }

  // Unlike a normalisation, whose statistics stay f32 beside a half.
  static bool takes_all_as_half(const Node& node) {
    return takes_half(op_info(node.op), node.inputs.size() - 1);
  }

  // By output: whether it is a half where the node computes in half.
  std::vector<char> half_outputs(const Node& node) const {
    std::vector<TensorType> types;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      types.push_back(graph_.type(node.inputs[i]));
      if (takes_half(op_info(node.op), i)) types.back().dtype = dtype_;
    }
    Attributes attributes = node.attributes;
    if (op_info(node.op).autocast == Autocast::Source) {
      attributes.set("dtype", std::string(dtype_name(dtype_)));
    }
    std::vector<TensorType> made = op_info(node.op).infer({types, attributes});
    std::vector<char> halves;
    for (const TensorType& type : made) halves.push_back(char(type.dtype == dtype_));
    return halves;
  }

  void set_half(size_t index) {
    const Node& node = graph_.nodes()[index];
    half_[index] = 1;
    std::vector<char> halves = half_outputs(node);
    for (size_t i = 0; i < halves.size(); ++i) {
      half_value_[size_t(node.outputs[i].id)] = halves[i];
    }
  }

  void decide_by_operands(size_t index) {
    const Node& node = graph_.nodes()[index];
    bool from_input = node.op == OpKind::Input, any_half = false;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      from_input |= from_input_[size_t(node.inputs[i].id)] != 0;
      any_half |= takes_half(op_info(node.op), i) && half_value_[size_t(node.inputs[i].id)];
    }
    for (Value value : node.outputs) from_input_[size_t(value.id)] = char(from_input);
    bool is_half = is_product(node) ? has_form_in_half(node) && !last_layer_[index]
                                    : any_half && follows(node);
    if (is_half) set_half(index);
  }

  // What only halves read is made as a half: the gradient that a pooling spreads, the images. Not
  // what is made of weights alone.
  bool is_wanted_half(const Node& node) const {
    if (op_info(node.op).autocast == Autocast::Source) {
      if (graph_.type(node.outputs[0]).dtype != DType::F32) return false;
    } else if (!follows(node) || !from_input_[size_t(node.outputs[0].id)]) {
      return false;
    }
    std::vector<char> halves = half_outputs(node);
    bool any = false;
    for (size_t i = 0; i < halves.size(); ++i) {
      const Uses& uses = uses_[size_t(node.outputs[i].id)];
      if (uses.wide || (uses.half && !halves[i])) return false;
      any |= uses.half;
    }
    return any;
  }

  void decide_by_readers(size_t index) {
    const Node& node = graph_.nodes()[index];
    if (!half_[index] && is_wanted_half(node)) set_half(index);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      bool is_half = half_[index] && takes_half(op_info(node.op), i);
      Uses& uses = uses_[size_t(node.inputs[i].id)];
      (is_half ? uses.half : uses.wide) = true;
    }
  }

  const Graph& graph_;
  DType dtype_;
  std::vector<char> last_layer_, half_;        // by node
  std::vector<char> half_value_, from_input_;  // by Value id
  std::vector<Uses> uses_;                     // by Value id, of the readers seen so far
};

// Rebuilds the graph with casts where the two precisions meet.
class Rewriter {
 public:
  Rewriter(const Graph& graph, DType dtype)
      : graph_(graph), dtype_(dtype), nodes_(graph, dtype), copier_(graph) {}

  Graph run() {
    for (size_t i = 0; i < graph_.nodes().size(); ++i) {
      if (is_leaf(graph_.nodes()[i].op)) {
        copier_.copy(graph_.nodes()[i]);
      } else {
        rebuild(i);
      }
    }
    Graph& result = copier_.result();
    for (const Store& store : graph_.stores()) {
      result.store(copier_.mapped(store.variable), in_type(store.value, type_of(store.value), ""));
    }
    for (const Output& output : graph_.outputs()) {
      result.add_output(output.name, in_type(output.value, type_of(output.value), ""));
    }
    return std::move(result);
  }

 private:
  DType type_of(Value value) const { return graph_.type(value).dtype; }

  // `value` of the source as `dtype`. A value that is computed is narrowed once, since the half is
  // what is kept; weights are cast for each reader and widened values made anew, since they are
  // not.
  Value in_type(Value value, DType dtype, const std::string& name) {
    Value mapped = copier_.mapped(value);
    if (copier_.result().type(mapped).dtype == dtype) return mapped;
    bool is_kept = dtype == dtype_ && !graph_.is_variable(value);
    if (is_kept) {
      auto known = narrowed_.find(value);
      if (known != narrowed_.end()) return known->second;
    }
    Value cast = copier_.result().add_one(OpKind::Cast, {mapped},
                                          {{"dtype", std::string(dtype_name(dtype))}}, name);
    if (is_kept) narrowed_.emplace(value, cast);
    return cast;
  }

  Attributes attributes_of(size_t index) const {
    const Node& node = graph_.nodes()[index];
    Attributes attributes = node.attributes;
    if (!nodes_.is_half(index)) return attributes;
    if (op_info(node.op).autocast == Autocast::Source) {
      attributes.set("dtype", std::string(dtype_name(dtype_)));
    }
    if (node.op == OpKind::MatMul && nodes_.has_wide_readers(index)) {
      attributes.set("wide_output", int64_t{1});
    }
    return attributes;
  }

  void rebuild(size_t index) {
    const Node& node = graph_.nodes()[index];
    std::map<std::pair<Value, DType>, Value> given;  // an operand that is read twice is cast once
    std::vector<Value> inputs;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      bool is_half = nodes_.is_half(index) && takes_half(op_info(node.op), i);
      DType dtype = is_half ? dtype_ : type_of(node.inputs[i]);
      auto [at, is_new] = given.emplace(std::pair(node.inputs[i], dtype), Value{});
      if (is_new) at->second = in_type(node.inputs[i], dtype, node.name);
      inputs.push_back(at->second);
    }
    std::vector<Value> made =
        copier_.result().add(node.op, std::move(inputs), attributes_of(index), node.name);
    for (size_t i = 0; i < made.size(); ++i) copier_.map(node.outputs[i], made[i]);
  }

  const Graph& graph_;
  DType dtype_;
  HalfNodes nodes_;
  GraphCopier copier_;
  std::map<Value, Value> narrowed_;
};

}  // namespace

Graph autocast(const Graph& graph, DType dtype) {
  if (dtype == DType::F32) return graph;
  if (!is_half(dtype)) {
    fail(ErrorKind::InvalidArgument, "autocast to {}, expected f32, f16 or bf16",
         dtype_name(dtype));
  }
  return Rewriter(graph, dtype).run();
}

}  // namespace pounce
