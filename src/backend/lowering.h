// From implementation lists to a lowered graph: the choice that host and GPU backends share. A list
// is ordered, best first; the first that does not refuse is taken, and the reasons of the others
// are kept for reports.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "backend/implementation.h"
#include "base/error.h"
#include "plan/lowered.h"

namespace pounce {

// Entry: pounce::Implementation or kernels::Implementation.
template <typename Entry>
struct ImplementationChoice {
  const Entry* entry = nullptr;   // null: all refuse
  std::vector<Refusal> refusals;  // of those before it, or of all
};

// Why `entry` cannot serve; nothing when it can.
template <typename Entry>
std::optional<std::string> find_refusal(const Entry& entry, const NodeContext& context) {
  if constexpr (requires { entry.thread_invariant; }) {
    if (!entry.thread_invariant) return "its result depends on the number of threads";
  }
  if (context.graph.needs_batch_invariance() && !entry.batch_invariant) {
    return "a sample's result depends on the batch around it";
  }
  if (entry.refuse == nullptr) return std::nullopt;
  return entry.refuse(context);
}

template <typename Entry>
ImplementationChoice<Entry> choose_implementation(std::span<const Entry> list,
                                                  const NodeContext& context) {
  ImplementationChoice<Entry> choice;
  for (const Entry& entry : list) {
    std::optional<std::string> reason = find_refusal(entry, context);
    if (!reason) {
      choice.entry = &entry;
      return choice;
    }
    choice.refusals.push_back({std::string(entry.name), *reason});
  }
  return choice;
}

// `lists` gives the entries of an op; empty: the op is not supported.
template <typename Entry>
class Lowering {
 public:
  using Lists = std::span<const Entry> (*)(const void* owner, OpKind op);

  Lowering(std::string_view backend, const Target& target, const void* owner, Lists lists)
      : backend_(backend), target_(target), owner_(owner), lists_(lists) {}

  // Why `node` cannot run; nothing when it can.
  std::optional<std::string> supports(const Graph& graph, const Node& node) const {
    if (is_leaf(node.op)) return std::nullopt;
    Choice choice = choose(graph, node);
    if (choice.entry != nullptr) return std::nullopt;
    return reasons(node, choice);
  }

  // Throws Unsupported naming the node and what was refused.
  LoweredGraph lower(const Graph& graph) const {
    LoweredGraph lowered;
    for (const Node& node : graph.nodes()) {
      LoweredNode& result = lowered.nodes.emplace_back();
      if (is_leaf(node.op)) continue;
      Choice choice = choose(graph, node);
      if (choice.entry == nullptr) {
        fail_with_hint(ErrorKind::Unsupported, "use another device or precision",
                       "{} ({}) cannot run on {}: {}", graph.describe(node), op_info(node.op).name,
                       backend_, reasons(node, choice));
      }
      const Entry& entry = *choice.entry;
      result.implementation = entry.name;
      result.refusals = std::move(choice.refusals);
      if (entry.workspace_bytes != nullptr) {
        result.workspace_bytes = entry.workspace_bytes({graph, node, target_});
      }
      result.in_place = in_place_of(node);
      result.in_place.insert(result.in_place.end(), entry.in_place.begin(), entry.in_place.end());
    }
    return lowered;
  }

  // By name: a plan record may come from another build. Throws Unsupported.
  const Entry& find(const Graph& graph, const Node& node, std::string_view name) const {
    std::span<const Entry> known = lists_(owner_, node.op);
    auto at = std::find_if(known.begin(), known.end(),
                           [&](const Entry& candidate) { return candidate.name == name; });
    if (at == known.end()) {
      fail(ErrorKind::Unsupported, "{} ({}): the {} backend has no implementation \"{}\"",
           graph.describe(node), op_info(node.op).name, backend_, name);
    }
    return *at;
  }

 private:
  using Choice = ImplementationChoice<Entry>;

  Choice choose(const Graph& graph, const Node& node) const {
    return choose_implementation(lists_(owner_, node.op), {graph, node, target_});
  }

  std::string reasons(const Node& node, const Choice& choice) const {
    if (choice.refusals.empty()) {
      return fmt::format("the {} backend has no {}", backend_, op_info(node.op).name);
    }
    std::string text;
    for (const Refusal& refusal : choice.refusals) {
      if (!text.empty()) text += "; ";
      text += fmt::format("{}: {}", refusal.implementation, refusal.reason);
    }
    return text;
  }

  std::string_view backend_;
  const Target& target_;
  const void* owner_;
  Lists lists_;
};

}  // namespace pounce
