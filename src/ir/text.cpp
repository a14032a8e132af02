#include "ir/text.h"

#include <charconv>

#include "base/error.h"
#include "ir/verify.h"

namespace pounce {
namespace {

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

// Reads one line; every expect_ method throws BadData naming the column.
class LineParser {
 public:
  LineParser(std::string_view line, int number) : line_(line), number_(number) {}

  [[noreturn]] void reject(std::string_view expected) const {
    fail(ErrorKind::BadData, "{}: expected {}, found \"{}\"", position(), expected,
         line_.substr(at_, 20));
  }
  // "graph text, line 3, column 17"
  std::string position() const {
    return fmt::format("graph text, line {}, column {}", number_, at_ + 1);
  }
  bool done() {
    skip_spaces();
    return at_ == line_.size();
  }
  bool accept(std::string_view token) {
    skip_spaces();
    if (line_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }
  void expect(std::string_view token) {
    if (!accept(token)) reject(token);
  }
  std::string_view expect_word() {
    skip_spaces();
    size_t begin = at_;
    while (at_ < line_.size() && (isalnum(uint8_t(line_[at_])) || line_[at_] == '_')) ++at_;
    if (begin == at_) reject("a word");
    return line_.substr(begin, at_ - begin);
  }
  template <typename T>
  T expect_number() {
    skip_spaces();
    T value{};
    auto [end, error] = std::from_chars(line_.data() + at_, line_.data() + line_.size(), value);
    if (error != std::errc()) reject("a number");
    at_ = size_t(end - line_.data());
    return value;
  }
  std::string expect_text() {
    expect("\"");
    std::string text;
    while (at_ < line_.size() && line_[at_] != '"') {
      if (line_[at_] == '\\') ++at_;
      if (at_ < line_.size()) text += line_[at_++];
    }
    expect("\"");
    return text;
  }
  template <typename T>
  std::vector<T> expect_list() {
    expect("[");
    std::vector<T> items;
    while (!accept("]")) {
      if (!items.empty()) expect(",");
      items.push_back(expect_number<T>());
    }
    return items;
  }
  int32_t expect_value_number() {
    expect("%");
    return expect_number<int32_t>();
  }
  TensorType expect_type() {
    auto dtype = parse_dtype(expect_word());
    if (!dtype) reject("a dtype");
    return {*dtype, Shape(expect_list<int64_t>())};
  }

 private:
  void skip_spaces() {
    while (at_ < line_.size() && line_[at_] == ' ') ++at_;
  }

  std::string_view line_;
  size_t at_ = 0;
  int number_;
};

class GraphParser {
 public:
  void parse_line(std::string_view text, int number) {
    LineParser line(text, number);
    try {
      parse_line(line);
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::BadData) throw;
      fail(ErrorKind::BadData, "{}: {}", line.position(), error.message());
    }
  }
  Graph take() { return std::move(graph_); }

 private:
  void parse_line(LineParser& line) {
    if (line.done()) return;
    if (line.accept("batch_invariant")) {
      graph_.require_batch_invariance();
    } else if (line.accept("store")) {
      Value variable = value(line);
      if (!graph_.is_variable(variable)) line.reject("a variable before it");
      line.expect("<-");
      graph_.store(variable, value(line));
    } else if (line.accept("output")) {
      Value output = value(line);
      graph_.add_output(line.expect_text(), output);
    } else {
      parse_node(line);
    }
    if (!line.done()) line.reject("the end of the line");
  }

  Value value(LineParser& line) {
    Value found{line.expect_value_number()};
    if (found.id < 0 || found.id >= graph_.value_count()) line.reject("a value made above");
    return found;
  }

  Attributes parse_attributes(LineParser& line, const OpInfo& info) {
    Attributes attributes;
    if (!line.accept("{")) return attributes;
    do {
      std::string name(line.expect_word());
      line.expect("=");
      const AttributeInfo* row = nullptr;
      for (const AttributeInfo& each : info.attributes) {
        if (each.name == name) row = &each;
      }
      if (row == nullptr) line.reject("an attribute of " + std::string(info.name));
      switch (row->type) {
        case AttributeType::Int:
          attributes.set(name, line.expect_number<int64_t>());
          break;
        case AttributeType::Float:
          attributes.set(name, line.expect_number<double>());
          break;
        case AttributeType::Text:
          attributes.set(name, line.expect_text());
          break;
        case AttributeType::Ints:
          attributes.set(name, line.expect_list<int64_t>());
          break;
        case AttributeType::Floats:
          attributes.set(name, line.expect_list<double>());
          break;
      }
    } while (line.accept(","));
    line.expect("}");
    return attributes;
  }

  void parse_node(LineParser& line) {
    std::vector<TensorType> declared;
    do {
      if (line.expect_value_number() != graph_.value_count() + int(declared.size())) {
        line.reject("values numbered in order");
      }
      line.expect(":");
      declared.push_back(line.expect_type());
    } while (line.accept(","));
    line.expect("=");
    const OpInfo* info = find_op(line.expect_word());
    if (info == nullptr) line.reject("the name of an op");
    line.expect("(");
    std::vector<Value> inputs;
    while (!line.accept(")")) {
      if (!inputs.empty()) line.expect(",");
      inputs.push_back(value(line));
    }
    Attributes attributes = parse_attributes(line, *info);
    std::string name = line.done() ? "" : line.expect_text();
    add(line, *info, std::move(inputs), std::move(attributes), std::move(name), declared);
  }

  void add(LineParser& line, const OpInfo& info, std::vector<Value> inputs, Attributes attributes,
           std::string name, const std::vector<TensorType>& declared) {
    if (is_leaf(info.kind) && (declared.size() != 1 || !inputs.empty())) {
      line.reject("one output and no inputs of " + std::string(info.name));
    }
    if (info.kind == OpKind::Input) {
      graph_.add_input(std::move(name), declared.at(0));
      return;
    }
    if (info.kind == OpKind::Variable) {
      const AttributeValue* role = attributes.find("role");
      for (int i = 0; role != nullptr && i < kRoleCount; ++i) {
        if (std::get<std::string>(*role) == role_name(VariableRole(i))) {
          graph_.add_variable(std::move(name), declared.at(0), VariableRole(i));
          return;
        }
      }
      line.reject("a variable's role");
    }
    std::vector<Value> outputs =
        graph_.add(info.kind, std::move(inputs), std::move(attributes), std::move(name));
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (declared.size() != outputs.size() || graph_.type(outputs[i]) != declared[i]) {
        line.reject("outputs of type " + to_string(graph_.type(outputs[i])));
      }
    }
  }

  Graph graph_;
};

}  // namespace

std::string print_graph(const Graph& graph) {
  std::string text = graph.needs_batch_invariance() ? "batch_invariant\n" : "";
  for (const Node& node : graph.nodes()) {
    std::string outputs, inputs;
    for (Value value : node.outputs) {
      outputs += fmt::format("{}%{}:{}", outputs.empty() ? "" : ", ", value.id,
                             to_string(graph.type(value)));
    }
    for (Value value : node.inputs) {
      inputs += fmt::format("{}%{}", inputs.empty() ? "" : ", ", value.id);
    }
    text += fmt::format("{} = {}({})", outputs, op_info(node.op).name, inputs);
    if (!node.attributes.entries().empty()) text += " " + to_string(node.attributes);
    if (!node.name.empty()) text += " " + quoted(node.name);
    text += "\n";
  }
  for (const Store& store : graph.stores()) {
    text += fmt::format("store %{} <- %{}\n", store.variable.id, store.value.id);
  }
  for (const Output& output : graph.outputs()) {
    text += fmt::format("output %{} {}\n", output.value.id, quoted(output.name));
  }
  return text;
}

Graph parse_graph(std::string_view text) {
  GraphParser parser;
  for (int number = 1; !text.empty(); ++number) {
    size_t end = std::min(text.find('\n'), text.size());
    parser.parse_line(text.substr(0, end), number);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  Graph graph = parser.take();
  verify_graph(graph);
  return graph;
}

}  // namespace pounce
