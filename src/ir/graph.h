// A static graph of tensor operations in execution order: what a training step is made of.
//
// Leaves are inputs (bound at every run) and variables (memory that outlives a run: weights,
// statistics, optimizer state, gradients, device scalars). Every other value is written once. A
// variable changes only through a store: its new value takes the old one's place when the program
// ends, and every reader in the program sees the old one.
#pragma once

#include <compare>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/dtype.h"
#include "base/shape.h"
#include "ir/attributes.h"
#include "ir/op.h"

namespace pounce {

struct TensorType {
  DType dtype = DType::F32;
  Shape shape;

  int64_t bytes() const { return shape.elements() * int64_t(dtype_bytes(dtype)); }
  bool operator==(const TensorType& other) const = default;
};

// "f32[8,16,16,3]"
std::string to_string(const TensorType& type);

// Index of a tensor in its Graph.
struct Value {
  int32_t id = -1;

  bool valid() const { return id >= 0; }
  auto operator<=>(const Value& other) const = default;
};

struct Node {
  OpKind op;
  std::string name;  // of the layer, input or variable; may be empty for other ops
  std::vector<Value> inputs;
  Attributes attributes;
  std::vector<Value> outputs;
};

// The op table's in_place without what names inputs the node does not have.
std::vector<Alias> in_place_of(const Node& node);

// What a variable is for: decides where its memory lies and what is saved.
enum class VariableRole : uint8_t {
  Parameter,  // trained
  Statistic,  // running statistics, saved with the model
  Optimizer,  // moments, saved in checkpoints
  Gradient,   // contiguous, in order of completion
  Scalar,     // counters, tables and flags of the step
};

inline constexpr int kRoleCount = 5;

std::string_view role_name(VariableRole role);

struct Store {
  Value variable;
  Value value;
};

struct Output {
  std::string name;
  Value value;
};

class Graph {
 public:
  // Leaves. Names are unique among inputs and among variables; a duplicate throws InvalidArgument.
  Value add_input(std::string name, TensorType type);
  Value add_variable(std::string name, TensorType type, VariableRole role);

  // Appends a node: fills in default attributes, checks them and the inputs against the op table
  // and infers the outputs' types. `name` is the layer's name and appears in every error.
  // Throws InvalidArgument naming the layer and the shapes.
  std::vector<Value> add(OpKind op, std::vector<Value> inputs, Attributes attributes = {},
                         std::string name = "");
  // The same for ops with one output.
  Value add_one(OpKind op, std::vector<Value> inputs, Attributes attributes = {},
                std::string name = "");

  // The variable takes `value` when the program ends. One store a variable; types must agree.
  void store(Value variable, Value value);
  // Gives the store that the variable has another value of its type.
  void replace_store(Value variable, Value value);
  void add_output(std::string name, Value value);

  // Evaluation promises that a sample's bits do not depend on the batch around it: such a graph is
  // served only by implementations that keep this.
  void require_batch_invariance() { needs_batch_invariance_ = true; }
  bool needs_batch_invariance() const { return needs_batch_invariance_; }

  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<Store>& stores() const { return stores_; }
  const std::vector<Output>& outputs() const { return outputs_; }

  int value_count() const { return int(values_.size()); }
  const TensorType& type(Value value) const { return values_.at(size_t(value.id)).type; }
  const Shape& shape(Value value) const { return type(value).shape; }
  // Index into nodes() of the node that makes `value`.
  int producer(Value value) const { return values_.at(size_t(value.id)).node; }

  bool is_variable(Value value) const;
  bool is_input(Value value) const;
  // Invalid when there is none of that name.
  Value find_variable(std::string_view name) const;
  Value find_input(std::string_view name) const;
  Value find_output(std::string_view name) const;
  VariableRole role(Value variable) const;
  // The layer's name, or "relu %17" where there is none.
  std::string describe(const Node& node) const;

 private:
  struct ValueInfo {
    TensorType type;
    int node;
  };

  Value append_value(TensorType type, int node);
  Value add_leaf(OpKind op, std::string name, TensorType type, Attributes attributes);

  std::vector<Node> nodes_;
  std::vector<ValueInfo> values_;
  std::vector<Store> stores_;
  std::vector<Output> outputs_;
  bool needs_batch_invariance_ = false;
  std::unordered_map<std::string, Value> variables_;
  std::unordered_map<std::string, Value> inputs_;
};

}  // namespace pounce
