// Elementwise ops become programs: of a node of their own, or of the op before them.
#include <algorithm>
#include <map>
#include <set>

#include "ir/fused.h"
#include "passes/copier.h"
#include "passes/pass.h"

namespace pounce {
namespace {

// Who reads each value of a graph.
class Readers {
 public:
  explicit Readers(const Graph& graph)
      : graph_(graph),
        nodes_(size_t(graph.value_count())),
        kept_(size_t(graph.value_count())),
        lasting_(size_t(graph.value_count())) {
    for (int i = 0; i < int(graph.nodes().size()); ++i) {
      const Node& node = graph.nodes()[size_t(i)];
      for (Value value : node.inputs) nodes_[size_t(value.id)].insert(i);
      if (is_leaf(node.op)) lasting_[size_t(node.outputs[0].id)] = 1;
    }
    for (const Store& store : graph.stores()) {
      kept_[size_t(store.value.id)] = 1;
      lasting_[size_t(store.variable.id)] = 0;
    }
    for (const Output& output : graph.outputs()) kept_[size_t(output.value.id)] = 1;
  }

  const std::set<int>& nodes(Value value) const { return nodes_[size_t(value.id)]; }
  // An output or a stored value: it has to be there at the end.
  bool is_kept(Value value) const { return kept_[size_t(value.id)]; }
  // Its memory is there at `node` whoever reads it.
  bool is_alive(Value value, int node) const {
    if (is_kept(value) || lasting_[size_t(value.id)]) return true;
    return !nodes(value).empty() && *nodes(value).rbegin() >= node;
  }
  // A stored variable whose new value would need a copy if the old one were read later.
  bool is_stored_variable(Value value) const {
    return graph_.is_variable(value) && !lasting_[size_t(value.id)];
  }

 private:
  const Graph& graph_;
  std::vector<std::set<int>> nodes_;  // by Value id
  std::vector<char> kept_, lasting_;
};

// Nodes that run together where the last of them stands.
using Members = std::set<int>;

std::optional<OpKind> step_op(OpKind op) {
  if (op == OpKind::BiasAdd) return OpKind::Add;  // the bias repeats along the last axis
  if (is_elementwise(op)) return op;
  return std::nullopt;
}

class Fuser {
 public:
  Fuser(const Graph& graph, const NodePredicate& supports)
      : graph_(graph), supports_(supports), readers_(graph), group_(graph.nodes().size()) {}

  Graph run() {
    for (int i = 0; i < node_count(); ++i) {
      if (step_op(node(i).op)) grow(i);
    }
    for (int i = 0; i < node_count(); ++i) {
      if (is_root(i)) fuse(i);
    }
    GraphCopier copier(graph_);
    for (int i = 0; i < node_count(); ++i) {
      auto made = made_.find(i);
      if (made != made_.end()) {
        copier.copy(made->second);
      } else if (!absorbed_.contains(i)) {
        copier.copy(node(i));
      }
    }
    return copier.finish();
  }

 private:
  int node_count() const { return int(graph_.nodes().size()); }
  const Node& node(int index) const { return graph_.nodes()[size_t(index)]; }
  int producer(Value value) const { return graph_.producer(value); }
  Value result(int index) const { return node(index).outputs[0]; }
  bool is_root(int index) const { return !group_[size_t(index)].empty(); }

  // What members read of others, in the order of first use.
  std::vector<Value> outer_inputs(const Members& members) const {
    std::vector<Value> inputs;
    for (int member : members) {
      for (Value value : node(member).inputs) {
        bool known = std::count(inputs.begin(), inputs.end(), value) > 0;
        if (!known && !members.contains(producer(value))) inputs.push_back(value);
      }
    }
    return inputs;
  }

  // Takes the groups that make the inputs of `root` into its own.
  void grow(int root) {
    Members& own = group_[size_t(root)];
    own = {root};
    std::set<int, std::greater<>> makers;  // nearest first
    for (Value value : node(root).inputs) makers.insert(producer(value));
    for (int maker : makers) {
      if (!is_root(maker) || !is_only_for(result(maker), own) ||
          graph_.type(result(maker)) != graph_.type(result(root))) {
        continue;
      }
      Members both = own;
      both.insert(group_[size_t(maker)].begin(), group_[size_t(maker)].end());
      bool fits = int(both.size()) <= kMostProgramSteps &&
                  int(outer_inputs(both).size()) <= kMostProgramOperands;
      if (!fits || !may_move(group_[size_t(maker)], result(maker), root, both)) continue;
      own = std::move(both);
      group_[size_t(maker)].clear();
    }
  }

  bool is_only_for(Value value, const Members& members) const {
    const std::set<int>& nodes = readers_.nodes(value);
    return !readers_.is_kept(value) &&
           std::includes(members.begin(), members.end(), nodes.begin(), nodes.end());
  }

  // Whether `moved`, which make `value`, may run at `place` instead, where `value` is read: at no
  // node between may more memory be alive than before.
  bool may_move(const Members& moved, Value value, int place, const Members& together) const {
    bool neighbours = true;
    for (int i = producer(value) + 1; i < place; ++i) {
      neighbours = neighbours && (is_leaf(node(i).op) || together.contains(i));
    }
    if (neighbours) return true;
    int64_t longer = 0;
    for (Value input : outer_inputs(moved)) {
      if (readers_.is_alive(input, place)) continue;
      if (readers_.is_stored_variable(input)) return false;
      longer += graph_.type(input).bytes();
    }
    return longer <= graph_.type(value).bytes();
  }

  void fuse(int root) {
    const Members& members = group_[size_t(root)];
    if (!reads_stored_variable(members) && add_epilogue(root, members)) return;
    if (members.size() < 2) return;
    Node fused = node(root);
    fused.op = OpKind::Fused;
    fused.inputs = outer_inputs(members);
    fused.attributes = {{"program", program_text(members, fused.inputs)}};
    for (int member : members) {
      if (fused.name.empty()) fused.name = node(member).name;
    }
    take(std::move(fused), members, root);
  }

  // Its new value may be the result, which fused forms do not write over a further operand.
  bool reads_stored_variable(const Members& members) const {
    std::vector<Value> inputs = outer_inputs(members);
    return std::any_of(inputs.begin(), inputs.end(),
                       [&](Value value) { return readers_.is_stored_variable(value); });
  }

  // As the end of the op that makes one of the inputs, the nearest such.
  bool add_epilogue(int root, const Members& members) {
    std::set<int, std::greater<>> makers;
    for (Value value : outer_inputs(members)) makers.insert(producer(value));
    for (int maker : makers) {
      std::optional<OpKind> form = fused_form_of(node(maker).op);
      Value begin = result(maker);
      if (!form || absorbed_.contains(maker) || !is_only_for(begin, members) ||
          graph_.type(begin) != graph_.type(result(root)) || is_read_before(maker, root)) {
        continue;
      }
      Members all = members;
      all.insert(maker);
      if (!may_move({maker}, begin, root, all)) continue;
      Node fused = with_program(*form, node(maker), begin, members);
      fused.outputs[0] = result(root);
      if (take(std::move(fused), all, root)) return true;
    }
    return false;
  }

  // Whether a further output of `maker` is needed before `place`.
  bool is_read_before(int maker, int place) const {
    for (size_t i = 1; i < node(maker).outputs.size(); ++i) {
      const std::set<int>& nodes = readers_.nodes(node(maker).outputs[i]);
      if (!nodes.empty() && *nodes.begin() <= place) return true;
    }
    return false;
  }

  // The fused form of `plain` with the members as its program, which begins with `begin`.
  Node with_program(OpKind form, const Node& plain, Value begin, const Members& members) const {
    std::vector<Value> operands = outer_inputs(members);
    std::erase(operands, begin);
    Node fused = plain;
    fused.op = form;
    fused.inputs.insert(fused.inputs.end(), operands.begin(), operands.end());
    operands.insert(operands.begin(), begin);
    fused.attributes.set("program", program_text(members, operands));
    return fused;
  }

  std::string program_text(const Members& members, const std::vector<Value>& operands) const {
    ElementwiseProgram program{.operands = int(operands.size()), .steps = {}};
    std::map<Value, int> numbers;
    for (Value value : operands) numbers.emplace(value, int(numbers.size()));
    for (int member : members) {
      const std::vector<Value>& inputs = node(member).inputs;
      program.steps.push_back(
          {*step_op(node(member).op), numbers.at(inputs.front()), numbers.at(inputs.back())});
      numbers.emplace(result(member), int(numbers.size()));
    }
    return to_string(program);
  }

  // `fused` stands at `place` for the nodes `for_all`, if the backend has it.
  bool take(Node fused, const Members& for_all, int place) {
    if (supports_ && !supports_(graph_, fused)) return false;
    absorbed_.insert(for_all.begin(), for_all.end());
    made_.emplace(place, std::move(fused));
    return true;
  }

  const Graph& graph_;
  const NodePredicate& supports_;
  Readers readers_;
  std::vector<Members> group_;  // by index of the last member; empty for others
  Members absorbed_;            // nodes that fused ones stand for
  std::map<int, Node> made_;    // by the index where they stand
};

}  // namespace

Graph fuse_elementwise(const Graph& graph, const PassOptions& options) {
  return Fuser(graph, options.supports).run();
}

}  // namespace pounce
