#include "engine/report.h"

#include <map>
#include <set>

#include <fmt/format.h>

namespace pounce {
namespace {

// Nodes of one op that were given the same implementation.
struct Use {
  int nodes = 0;
  std::set<std::string> refusals;  // of better ones: "onednn: 2 groups, only one is served"
};

std::string implementation_lines(const Graph& graph, const LoweredGraph& lowered) {
  std::map<std::pair<OpKind, std::string>, Use> uses;
  for (size_t i = 0; i < lowered.nodes.size(); ++i) {
    const LoweredNode& node = lowered.nodes[i];
    if (node.implementation.empty()) continue;
    Use& use = uses[{graph.nodes()[i].op, node.implementation}];
    ++use.nodes;
    for (const Refusal& refusal : node.refusals) {
      use.refusals.insert(fmt::format("{}: {}", refusal.implementation, refusal.reason));
    }
  }
  std::string text;
  for (const auto& [key, use] : uses) {
    text += fmt::format("{} x {}: {}\n", use.nodes, op_info(key.first).name, key.second);
    for (const std::string& refusal : use.refusals) {
      text += fmt::format("  refused: {}\n", refusal);
    }
  }
  return text;
}

}  // namespace

std::string report_program(const Session& session, std::string_view program) {
  std::string text;
  for (const PassReport& pass : session.pass_reports(program)) {
    text += fmt::format("pass {}: {} nodes to {}, {:.1f} ms\n", pass.name, pass.nodes_before,
                        pass.nodes_after, pass.milliseconds);
  }
  const Graph& graph = session.graph(program);
  text += implementation_lines(graph, session.lowered(program));
  text += print_plan(graph, session.plan(program));
  text.pop_back();  // the last line feed
  return text;
}

}  // namespace pounce
