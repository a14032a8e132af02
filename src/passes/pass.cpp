#include "passes/pass.h"

#include <algorithm>
#include <chrono>

#include "base/error.h"
#include "ir/verify.h"
#include "passes/autocast.h"

namespace pounce {
namespace {

// A pass that needs no options.
template <Graph (*run)(const Graph&)>
Graph without_options(const Graph& graph, const PassOptions&) {
  return run(graph);
}

constexpr Pass kPasses[] = {
    {"merge_common_subexpressions", "equal nodes become one",
     without_options<merge_common_subexpressions>, false},
    {"eliminate_dead_code", "nodes nothing needs are dropped", without_options<eliminate_dead_code>,
     false},
    {"fuse_elementwise", "elementwise nodes run in one pass over memory, with the op before them",
     fuse_elementwise, false},
    {"legalize_stores", "copies where a value cannot be computed in its variable's memory",
     without_options<legalize_stores>, true},
};

void check_disabled(const PassOptions& options) {
  std::vector<std::string_view> optional;
  for (const Pass& pass : kPasses) {
    if (!pass.required) optional.push_back(pass.name);
  }
  for (const std::string& name : options.disabled) {
    if (std::find(optional.begin(), optional.end(), name) == optional.end()) {
      fail(ErrorKind::InvalidArgument, "no pass \"{}\" can be disabled, expected one of: {}", name,
           fmt::join(optional, ", "));
    }
  }
}

// Timed, and verified afterwards.
template <typename Run>
Graph run_pass(std::string_view name, const Run& run, const Graph& graph,
               std::vector<PassReport>* reports) {
  auto start = std::chrono::steady_clock::now();
  Graph next = run(graph);
  std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  try {
    verify_graph(next);
  } catch (Error& error) {
    error.add_context(fmt::format("after pass {}", name));
    throw;
  }
  if (reports != nullptr) {
    reports->push_back({name, took.count(), graph.nodes().size(), next.nodes().size()});
  }
  return next;
}

}  // namespace

std::span<const Pass> pass_list() {
  return kPasses;
}

Graph run_passes(const Graph& graph, const PassOptions& options, std::vector<PassReport>* reports) {
  check_disabled(options);
  Graph current = graph;
  if (options.precision != DType::F32) {
    auto run = [&](const Graph& before) { return autocast(before, options.precision); };
    current = run_pass("autocast", run, current, reports);
  }
  for (const Pass& pass : kPasses) {
    if (std::count(options.disabled.begin(), options.disabled.end(), pass.name) > 0) continue;
    auto run = [&](const Graph& before) { return pass.run(before, options); };
    current = run_pass(pass.name, run, current, reports);
  }
  return current;
}

}  // namespace pounce
