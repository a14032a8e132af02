// The ordered list of graph rewrites. Each is a pure function, timed, verified afterwards and,
// where results do not depend on it, disabled by name.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace pounce {

struct Pass {
  std::string_view name;
  std::string_view summary;
  Graph (*run)(const Graph&);
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

struct PassOptions {
  std::vector<std::string> disabled;
  // F16 or BF16: mixed precision, as the first of all passes (passes/autocast.h).
  DType precision = DType::F32;
};

// Runs autocast, where a precision is set, and the list over `graph`. Throws InvalidArgument for a
// disabled name that is unknown or required, listing those that can be disabled. `reports` may be
// null.
Graph run_passes(const Graph& graph, const PassOptions& options, std::vector<PassReport>* reports);

// The passes, one file each.
Graph eliminate_dead_code(const Graph& graph);
Graph merge_common_subexpressions(const Graph& graph);
Graph legalize_stores(const Graph& graph);

}  // namespace pounce
