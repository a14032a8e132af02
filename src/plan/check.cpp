// Written apart from the planner on purpose: shares none of its code or ideas of lifetime.
#include <map>

#include "base/error.h"
#include "plan/plan.h"

namespace pounce {
namespace {

struct Use {
  Placement where;
  int first;
  int last;
  int value;  // -1: workspace
};

bool overlap_in_memory(const Placement& a, const Placement& b) {
  return a.arena == b.arena && a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}

std::vector<Use> collect_uses(const Graph& graph, const Plan& plan) {
  int end = int(graph.nodes().size());
  std::map<int, int> last_reader;
  for (int i = 0; i < end; ++i) {
    for (Value value : graph.nodes()[size_t(i)].inputs) last_reader[value.id] = i;
  }
  for (const Output& output : graph.outputs()) last_reader[output.value.id] = end;
  std::map<int, bool> overwritten;
  for (const Store& store : graph.stores()) {
    overwritten[store.variable.id] = true;
    last_reader[store.value.id] = end;
  }
  std::vector<Use> uses;
  for (int i = 0; i < end; ++i) {
    const Node& node = graph.nodes()[size_t(i)];
    bool leaf = is_leaf(node.op);
    for (Value value : node.outputs) {
      auto reader = last_reader.find(value.id);
      int last = reader == last_reader.end() ? (leaf ? -1 : i) : reader->second;
      if (node.op == OpKind::Variable && !overwritten.contains(value.id)) last = end;
      uses.push_back({plan.values.at(size_t(value.id)), leaf ? -1 : i, last, value.id});
    }
    if (plan.workspaces.at(size_t(i)).bytes > 0) {
      uses.push_back({plan.workspaces[size_t(i)], i, i, -1});
    }
  }
  return uses;
}

// `later` is an output of the node that reads `earlier` last and may be written over it.
bool is_in_place(const Graph& graph, const LoweredGraph& lowered, const Use& earlier,
                 const Use& later) {
  if (earlier.value < 0 || later.value < 0 || later.first != earlier.last || later.first < 0 ||
      later.first >= int(graph.nodes().size())) {
    return false;
  }
  const Node& node = graph.nodes()[size_t(later.first)];
  for (const Alias& alias : lowered.nodes[size_t(later.first)].in_place) {
    if (node.outputs[size_t(alias.output)].id == later.value &&
        node.inputs[size_t(alias.input)].id == earlier.value &&
        earlier.where.offset == later.where.offset) {
      return true;
    }
  }
  return false;
}

std::string describe(const Graph& graph, const Use& use) {
  if (use.value < 0) {
    return fmt::format("the workspace of {}", graph.describe(graph.nodes()[size_t(use.first)]));
  }
  const Node& node = graph.nodes()[size_t(graph.producer(Value{use.value}))];
  return fmt::format("%{} of {}", use.value, graph.describe(node));
}

size_t arena_bytes(const Plan& plan, Arena arena) {
  switch (arena) {
    case Arena::Persistent:
      return plan.persistent_bytes;
    case Arena::Planned:
      return plan.planned_bytes;
    case Arena::Staging:
      return plan.staging_bytes;
  }
  return 0;
}

void check_extents(const Graph& graph, const LoweredGraph& lowered, const Plan& plan,
                   const std::vector<Use>& uses) {
  for (const Use& use : uses) {
    size_t needed = use.value >= 0 ? size_t(graph.type(Value{use.value}).bytes())
                                   : lowered.nodes[size_t(use.first)].workspace_bytes;
    if (use.where.bytes != needed || use.where.offset % kPlacementAlignment != 0 ||
        use.where.offset + use.where.bytes > arena_bytes(plan, use.where.arena)) {
      fail(ErrorKind::Internal, "plan: {} lies outside its arena or has the wrong size",
           describe(graph, use));
    }
  }
  for (size_t i = 0; i < lowered.nodes.size(); ++i) {
    if (plan.workspaces.at(i).bytes != lowered.nodes[i].workspace_bytes) {
      fail(ErrorKind::Internal, "plan: {} has a workspace of {} bytes, it needs {}",
           graph.describe(graph.nodes()[i]), plan.workspaces[i].bytes,
           lowered.nodes[i].workspace_bytes);
    }
  }
}

void check_stores(const Graph& graph, const Plan& plan) {
  for (const Store& store : graph.stores()) {
    if (plan.values[size_t(store.value.id)] == plan.values[size_t(store.variable.id)]) continue;
    fail(ErrorKind::Internal, "plan: %{} does not lie in the variable \"{}\" it is stored to",
         store.value.id, graph.nodes()[size_t(graph.producer(store.variable))].name);
  }
}

// Memory called free after a node may hold nothing that is needed later.
void check_released(const Graph& graph, const Plan& plan, const std::vector<Use>& uses) {
  for (int i = 0; i < int(plan.released.size()); ++i) {
    for (const Placement& free : plan.released[size_t(i)]) {
      for (const Use& use : uses) {
        if (use.first > i || use.last <= i || !overlap_in_memory(use.where, free)) continue;
        fail(ErrorKind::Internal, "plan: {} is alive after node {}, which frees its memory",
             describe(graph, use), i);
      }
    }
  }
}

}  // namespace

void check_plan(const Graph& graph, const LoweredGraph& lowered, const Plan& plan) {
  std::vector<Use> uses = collect_uses(graph, plan);
  check_extents(graph, lowered, plan, uses);
  check_stores(graph, plan);
  for (size_t i = 0; i < uses.size(); ++i) {
    for (size_t j = i + 1; j < uses.size(); ++j) {
      const Use& earlier = uses[i].first <= uses[j].first ? uses[i] : uses[j];
      const Use& later = uses[i].first <= uses[j].first ? uses[j] : uses[i];
      if (later.first > earlier.last || !overlap_in_memory(earlier.where, later.where)) continue;
      if (is_in_place(graph, lowered, earlier, later)) continue;
      fail(ErrorKind::Internal, "plan: {} and {} are alive at node {} and overlap",
           describe(graph, earlier), describe(graph, later), later.first);
    }
  }
  check_released(graph, plan, uses);
}

}  // namespace pounce
