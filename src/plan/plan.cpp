#include "plan/plan.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "plan/liveness.h"
#include "plan/placement.h"

namespace pounce {
namespace {

// Builds one Plan. Values fall into three groups: leaves and values stored in a variable have a
// fixed place; values written over one another share a buffer; the rest have one each.
class Planner {
 public:
  Planner(const Graph& graph, const LoweredGraph& lowered, const VariableLayout& variables,
          const PlanOptions& options)
      : graph_(graph),
        lowered_(lowered),
        variables_(variables),
        options_(options),
        lifetimes_(find_lifetimes(graph)),
        buffer_of_(size_t(graph.value_count()), kUnplaced) {
    plan_.values.resize(size_t(graph.value_count()));
    plan_.workspaces.resize(graph.nodes().size());
    plan_.released.resize(graph.nodes().size());
    plan_.persistent_bytes = variables.bytes;
  }

  Plan run() {
    place_leaves();
    for (const Store& store : graph_.stores()) place_store(store);
    for (size_t i = 0; i < graph_.nodes().size(); ++i) assign_buffers(int(i));
    place_all();
    return std::move(plan_);
  }

 private:
  static constexpr int kUnplaced = -1;
  static constexpr int kFixed = -2;

  Lifetime& lifetime(Value value) { return lifetimes_[size_t(value.id)]; }
  int& buffer(Value value) { return buffer_of_[size_t(value.id)]; }
  Placement& placement(Value value) { return plan_.values[size_t(value.id)]; }
  size_t bytes(Value value) const { return size_t(graph_.type(value).bytes()); }
  const Node& node(int index) const { return graph_.nodes()[size_t(index)]; }

  void fix(Value value, const Placement& where) {
    placement(value) = where;
    buffer(value) = kFixed;
  }

  void place_leaves() {
    for (const Node& leaf : graph_.nodes()) {
      if (leaf.op == OpKind::Variable) {
        fix(leaf.outputs[0], variables_.placements.at(leaf.name));
      } else if (leaf.op == OpKind::Input) {
        size_t size = bytes(leaf.outputs[0]);
        fix(leaf.outputs[0], {Arena::Staging, plan_.staging_bytes, size});
        plan_.staging_bytes += align_up(size, options_.alignment);
      }
    }
  }

  // Whether output `value` of its node may be written over `input` there.
  bool may_write_over(int index, Value value, Value input) const {
    const Node& at = node(index);
    for (const Alias& alias : lowered_.nodes[size_t(index)].in_place) {
      if (at.outputs[size_t(alias.output)] == value && at.inputs[size_t(alias.input)] == input) {
        return std::count(at.inputs.begin(), at.inputs.end(), input) == 1;
      }
    }
    return false;
  }

  // Whether memory whose content is last read at node `last_read` as `old` may hold `value`.
  bool may_follow(int last_read, Value old, Value value) {
    int made = graph_.producer(value);
    return last_read < made || (last_read == made && may_write_over(made, value, old));
  }

  void place_store(const Store& store) {
    if (buffer(store.value) != kUnplaced ||
        !may_follow(lifetime(store.variable).last, store.variable, store.value)) {
      fail(ErrorKind::Internal, "store to \"{}\": its value cannot lie in the variable's place",
           node(graph_.producer(store.variable)).name);
    }
    fix(store.value, placement(store.variable));
    taken_from_[store.variable.id] = graph_.producer(store.value);
    if (options_.reuse) place_sources(store.variable, store.value);
  }

  // A chain of in-place nodes that ends in a store runs in the variable's place from its start: a
  // weight gradient is computed where the optimizer reads it.
  void place_sources(Value variable, Value value) {
    int index = graph_.producer(value);
    for (Value input : node(index).inputs) {
      bool possible = buffer(input) == kUnplaced && lifetime(input).last == index &&
                      bytes(input) == bytes(value) && may_write_over(index, value, input) &&
                      may_follow(lifetime(variable).last, variable, input);
      if (!possible) continue;
      fix(input, placement(variable));
      taken_from_[variable.id] = graph_.producer(input);
      place_sources(variable, input);
      return;
    }
  }

  // A variable that will be stored to is free between its last reader and the store.
  bool borrow_variable(Value value, Value input) {
    auto taken = taken_from_.find(input.id);
    if (taken == taken_from_.end() || taken->second <= lifetime(value).last) return false;
    fix(value, placement(input));
    return true;
  }

  bool reuse_input(int index, Value value) {
    for (Value input : node(index).inputs) {
      if (!may_write_over(index, value, input) || lifetime(input).last != index ||
          bytes(input) != bytes(value)) {
        continue;
      }
      if (buffer(input) == kFixed) {
        if (borrow_variable(value, input)) return true;
        continue;
      }
      PlannedBuffer& shared = buffers_[size_t(buffer(input))];
      if (shared.lifetime.last != index) continue;  // another output took it
      shared.lifetime.last = lifetime(value).last;
      buffer(value) = buffer(input);
      return true;
    }
    return false;
  }

  void assign_buffers(int index) {
    for (Value value : node(index).outputs) {
      if (buffer(value) != kUnplaced) continue;
      // A buffer extended beyond this node by a first output is no longer free for a second one,
      // unless the first dies here as well.
      bool dies_here = lifetime(value).last == index;
      if (options_.reuse && !dies_here && reuse_input(index, value)) continue;
      buffer(value) = int(buffers_.size());
      buffers_.push_back({align_up(bytes(value), options_.alignment), lifetime(value)});
    }
    size_t workspace = lowered_.nodes[size_t(index)].workspace_bytes;
    if (workspace == 0) return;
    workspace_buffers_.emplace_back(index, buffers_.size());
    buffers_.push_back({align_up(workspace, options_.alignment), {index, index}});
  }

  void place_all() {
    int nodes = int(graph_.nodes().size());
    PeakUse peak = find_peak(buffers_, nodes);
    plan_.lower_bound_bytes = peak.bytes;
    plan_.peak_node = peak.node;
    if (options_.reuse) {
      plan_.planned_bytes = place_buffers(buffers_);
    } else {
      for (PlannedBuffer& each : buffers_) {
        each.offset = plan_.planned_bytes;
        plan_.planned_bytes += each.bytes;
      }
    }
    for (int id = 0; id < graph_.value_count(); ++id) {
      Value value{id};
      if (buffer(value) < 0) continue;
      const PlannedBuffer& in = buffers_[size_t(buffer(value))];
      placement(value) = {Arena::Planned, in.offset, bytes(value)};
      if (lifetime(value).first <= peak.node && peak.node <= lifetime(value).last) {
        plan_.alive_at_peak.push_back(value);
      }
    }
    std::stable_sort(plan_.alive_at_peak.begin(), plan_.alive_at_peak.end(),
                     [&](Value a, Value b) { return bytes(a) > bytes(b); });
    for (const auto& [index, number] : workspace_buffers_) {
      plan_.workspaces[size_t(index)] = {Arena::Planned, buffers_[number].offset,
                                         lowered_.nodes[size_t(index)].workspace_bytes};
    }
    for (const PlannedBuffer& each : buffers_) {
      if (each.lifetime.last < nodes && each.bytes > 0) {
        plan_.released[size_t(each.lifetime.last)].push_back(
            {Arena::Planned, each.offset, each.bytes});
      }
    }
  }

  const Graph& graph_;
  const LoweredGraph& lowered_;
  const VariableLayout& variables_;
  const PlanOptions& options_;
  std::vector<Lifetime> lifetimes_;
  std::vector<int> buffer_of_;     // by Value id: index into buffers_, or one of the constants
  std::map<int, int> taken_from_;  // stored variable: the first node that writes its new content
  std::vector<PlannedBuffer> buffers_;
  std::vector<std::pair<int, size_t>> workspace_buffers_;  // node, buffer
  Plan plan_;
};

}  // namespace

Plan plan_memory(const Graph& graph, const LoweredGraph& lowered, const VariableLayout& variables,
                 const PlanOptions& options) {
  POUNCE_ASSERT(lowered.nodes.size() == graph.nodes().size());
  return Planner(graph, lowered, variables, options).run();
}

}  // namespace pounce
