// The ordered list of graph rewrites. Each is a pure function, timed, verified afterwards and,
// where results do not depend on it, disabled by name.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace pounce {

// Whether something holds for a node, whose inputs and outputs are values of the graph.
using NodePredicate = std::function<bool(const Graph&, const Node&)>;

struct PassOptions {
  std::vector<std::string> disabled = {};
  // F16 or BF16: mixed precision, as the first of all passes (passes/autocast.h).
  DType precision = DType::F32;
  // Whether the backend has the op for this node: passes make only such nodes. Null: it has all.
  NodePredicate supports = {};
};

struct Pass {
  std::string_view name;
  std::string_view summary;
  Graph (*run)(const Graph&, const PassOptions&);
  bool required;  // cannot be disabled: lowering relies on it
};

// In the order in which they run.
std::span<const Pass> pass_list();

struct PassReport {
  std::string_view name;
  double milliseconds = 0;
  size_t nodes_before = 0;
  size_t nodes_after = 0;
};

// Runs autocast, where a precision is set, and the list over `graph`. Throws InvalidArgument for a
// disabled name that is unknown or required, listing those that can be disabled. `reports` may be
// null.
Graph run_passes(const Graph& graph, const PassOptions& options, std::vector<PassReport>* reports);

// The passes, one file each.
Graph eliminate_dead_code(const Graph& graph);
Graph merge_common_subexpressions(const Graph& graph);
Graph legalize_stores(const Graph& graph);
// Chains and trees of elementwise ops whose values between have one reader become one node, `fused`
// or the fused form of an op before them (ir/fused.h). Results keep every bit, and at no node more
// memory is alive than before.
Graph fuse_elementwise(const Graph& graph, const PassOptions& options = {});

}  // namespace pounce
