// The memory plan: an offset for every tensor and scratch buffer of a program, computed before
// anything is allocated. A pure function of graph, lowering and options.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "plan/lowered.h"

namespace pounce {

// Every placement starts at a multiple of this, enough for any vector load and cache line. A device
// may ask for a larger power of two: Target::placement_alignment.
inline constexpr size_t kPlacementAlignment = 64;

// `bytes` up to the next place another buffer may start at.
constexpr size_t align_up(size_t bytes, size_t alignment = kPlacementAlignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

enum class Arena : uint8_t {
  Persistent,  // variables; shared by all programs of a session
  Planned,     // everything a program computes; reused between its values
  Staging,     // inputs; there are two of these, so that the next batch can arrive
};

struct Placement {
  Arena arena = Arena::Planned;
  size_t offset = 0;
  size_t bytes = 0;

  bool operator==(const Placement&) const = default;
};

// Offsets of variables in the persistent arena, shared by the programs of a session.
struct VariableLayout {
  std::map<std::string, Placement> placements;
  size_t bytes = 0;
  // The contiguous region of all gradients, in order of completion.
  size_t gradients_offset = 0;
  size_t gradients_bytes = 0;
};

// Places the variables of all graphs together; equal names are one variable.
// Throws InvalidArgument when two graphs disagree on a variable's type.
VariableLayout lay_out_variables(const std::vector<const Graph*>& graphs,
                                 size_t alignment = kPlacementAlignment);

struct PlanOptions {
  size_t alignment = kPlacementAlignment;  // of every placement; the variables' layout has its own
  // False: no two values share memory and nothing is in place: the oracle of planned runs.
  bool reuse = true;
};

struct Plan {
  std::vector<Placement> values;      // by Value id
  std::vector<Placement> workspaces;  // by node index; bytes 0: none
  // Node index -> placements free to be overwritten after it ran.
  std::vector<std::vector<Placement>> released;
  size_t planned_bytes = 0;
  size_t staging_bytes = 0;
  size_t persistent_bytes = 0;
  // No plan can need less: the most bytes alive at one node.
  size_t lower_bound_bytes = 0;
  int peak_node = -1;                // where that is
  std::vector<Value> alive_at_peak;  // largest first
};

// Every store's value must either be able to lie in its variable's place or be a copy node: run
// legalize_stores (passes) first. Throws Internal where that does not hold.
Plan plan_memory(const Graph& graph, const LoweredGraph& lowered, const VariableLayout& variables,
                 const PlanOptions& options = {});

// An independent check that shares no code with the planner: no two buffers that are alive at the
// same node overlap, unless one was allowed to be written over the other; stored values lie in
// their variables; what is released is needed no more. Throws Internal naming what breaks a rule.
void check_plan(const Graph& graph, const LoweredGraph& lowered, const Plan& plan);

// Table for people: totals, peak, lower bound, what is alive at the peak.
std::string print_plan(const Graph& graph, const Plan& plan);

}  // namespace pounce
