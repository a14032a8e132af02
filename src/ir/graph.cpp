#include "ir/graph.h"

#include <algorithm>
#include <array>

#include "base/error.h"

namespace pounce {
namespace {

constexpr std::array<std::string_view, kRoleCount> kRoleNames = {"parameter", "statistic",
                                                                 "optimizer", "gradient", "scalar"};

const char* type_word(AttributeType type) {
  switch (type) {
    case AttributeType::Int:
      return "an integer";
    case AttributeType::Float:
      return "a number";
    case AttributeType::Text:
      return "text";
    case AttributeType::Ints:
      return "integers";
    case AttributeType::Floats:
      return "numbers";
  }
  return "";
}

void complete_attributes(const OpInfo& info, Attributes& attributes) {
  for (const auto& [name, value] : attributes.entries()) {
    bool known = std::any_of(info.attributes.begin(), info.attributes.end(),
                             [&](const AttributeInfo& row) { return row.name == name; });
    if (!known) fail(ErrorKind::InvalidArgument, "unknown attribute {}", name);
  }
  for (const AttributeInfo& row : info.attributes) {
    const AttributeValue* value = attributes.find(row.name);
    if (value == nullptr) {
      if (!row.default_value) fail(ErrorKind::InvalidArgument, "attribute {} is missing", row.name);
      attributes.set(std::string(row.name), *row.default_value);
    } else if (value->index() != size_t(row.type)) {
      fail(ErrorKind::InvalidArgument, "attribute {} must be {}", row.name, type_word(row.type));
    }
  }
}

}  // namespace

std::string to_string(const TensorType& type) {
  return fmt::format("{}{}", dtype_name(type.dtype), to_string(type.shape));
}

std::vector<Alias> in_place_of(const Node& node) {
  std::vector<Alias> aliases = op_info(node.op).in_place;
  std::erase_if(aliases, [&](const Alias& a) { return size_t(a.input) >= node.inputs.size(); });
  return aliases;
}

std::string_view role_name(VariableRole role) {
  return kRoleNames[size_t(role)];
}

Value Graph::append_value(TensorType type, int node) {
  values_.push_back({std::move(type), node});
  return Value{int32_t(values_.size() - 1)};
}

Value Graph::add_leaf(OpKind op, std::string name, TensorType type, Attributes attributes) {
  auto& names = op == OpKind::Input ? inputs_ : variables_;
  if (names.contains(name) || name.empty()) {
    fail(ErrorKind::InvalidArgument, "{} \"{}\": expected a name that is not yet taken",
         op_info(op).name, name);
  }
  Value value = append_value(std::move(type), int(nodes_.size()));
  names.emplace(name, value);
  nodes_.push_back({op, std::move(name), {}, std::move(attributes), {value}});
  return value;
}

Value Graph::add_input(std::string name, TensorType type) {
  return add_leaf(OpKind::Input, std::move(name), std::move(type), {});
}

Value Graph::add_variable(std::string name, TensorType type, VariableRole role) {
  return add_leaf(OpKind::Variable, std::move(name), std::move(type),
                  {{"role", std::string(role_name(role))}});
}

std::vector<Value> Graph::add(OpKind op, std::vector<Value> inputs, Attributes attributes,
                              std::string name) {
  const OpInfo& info = op_info(op);
  POUNCE_ASSERT(info.infer != nullptr);
  Node node{op, std::move(name), std::move(inputs), std::move(attributes), {}};
  std::vector<TensorType> types;
  for (Value value : node.inputs) {
    POUNCE_ASSERT(value.id >= 0 && value.id < value_count());
    types.push_back(type(value));
  }
  try {
    if (!accepts_inputs(info, types.size())) {
      fail(ErrorKind::InvalidArgument, "{} inputs given, {} expected ({}{})", types.size(),
           info.inputs.size() - (info.optional ? 1 : 0), fmt::join(info.inputs, ", "),
           info.variadic ? ", ..." : "");
    }
    complete_attributes(info, node.attributes);
    types = info.infer({types, node.attributes});
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::InvalidArgument) throw;
    std::string_view layer = node.name.empty() ? "unnamed" : std::string_view(node.name);
    throw Error(error.kind(), fmt::format("{} ({}): {}", layer, info.name, error.message()),
                error.hint());
  }
  POUNCE_ASSERT(types.size() == info.outputs.size());
  for (TensorType& type : types) {
    node.outputs.push_back(append_value(std::move(type), int(nodes_.size())));
  }
  nodes_.push_back(std::move(node));
  return nodes_.back().outputs;
}

Value Graph::add_one(OpKind op, std::vector<Value> inputs, Attributes attributes,
                     std::string name) {
  std::vector<Value> outputs = add(op, std::move(inputs), std::move(attributes), std::move(name));
  POUNCE_ASSERT(outputs.size() == 1);
  return outputs[0];
}

void Graph::store(Value variable, Value value) {
  POUNCE_ASSERT(is_variable(variable));
  const std::string& name = nodes_[size_t(producer(variable))].name;
  if (type(variable) != type(value)) {
    fail(ErrorKind::InvalidArgument, "store to \"{}\": the variable is {}, the value {}", name,
         to_string(type(variable)), to_string(type(value)));
  }
  for (const Store& other : stores_) {
    if (other.variable == variable) {
      fail(ErrorKind::InvalidArgument, "store to \"{}\": it already has one", name);
    }
  }
  stores_.push_back({variable, value});
}

void Graph::replace_store(Value variable, Value value) {
  POUNCE_ASSERT(type(variable) == type(value));
  auto at = std::find_if(stores_.begin(), stores_.end(),
                         [&](const Store& store) { return store.variable == variable; });
  POUNCE_ASSERT(at != stores_.end());
  at->value = value;
}

void Graph::add_output(std::string name, Value value) {
  if (find_output(name).valid()) {
    fail(ErrorKind::InvalidArgument, "output \"{}\" exists already", name);
  }
  outputs_.push_back({std::move(name), value});
}

bool Graph::is_variable(Value value) const {
  return nodes_.at(size_t(producer(value))).op == OpKind::Variable;
}

bool Graph::is_input(Value value) const {
  return nodes_.at(size_t(producer(value))).op == OpKind::Input;
}

Value Graph::find_variable(std::string_view name) const {
  auto at = variables_.find(std::string(name));
  return at == variables_.end() ? Value{} : at->second;
}

Value Graph::find_input(std::string_view name) const {
  auto at = inputs_.find(std::string(name));
  return at == inputs_.end() ? Value{} : at->second;
}

Value Graph::find_output(std::string_view name) const {
  for (const Output& output : outputs_) {
    if (output.name == name) return output.value;
  }
  return {};
}

VariableRole Graph::role(Value variable) const {
  POUNCE_ASSERT(is_variable(variable));
  const std::string& text = nodes_[size_t(producer(variable))].attributes.text("role");
  auto at = std::find(kRoleNames.begin(), kRoleNames.end(), text);
  POUNCE_ASSERT(at != kRoleNames.end());
  return VariableRole(at - kRoleNames.begin());
}

std::string Graph::describe(const Node& node) const {
  if (!node.name.empty()) return node.name;
  return fmt::format("{} %{}", op_info(node.op).name, node.outputs[0].id);
}

}  // namespace pounce
