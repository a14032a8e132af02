#include <fmt/format.h>

#include "plan/plan.h"

namespace pounce {
namespace {

constexpr size_t kRowsAtPeak = 20;

}  // namespace

std::string print_plan(const Graph& graph, const Plan& plan) {
  std::string text = fmt::format(
      "planned {} bytes, lower bound {}, persistent {}, staging {} x 2\n", plan.planned_bytes,
      plan.lower_bound_bytes, plan.persistent_bytes, plan.staging_bytes);
  if (plan.peak_node < 0 || plan.peak_node >= int(graph.nodes().size())) return text;
  const Node& peak = graph.nodes()[size_t(plan.peak_node)];
  text += fmt::format("alive at the peak, node {} ({} {}):\n", plan.peak_node,
                      op_info(peak.op).name, graph.describe(peak));
  size_t rest = 0;
  for (size_t i = 0; i < plan.alive_at_peak.size(); ++i) {
    Value value = plan.alive_at_peak[i];
    const Placement& where = plan.values[size_t(value.id)];
    if (i >= kRowsAtPeak) {
      rest += where.bytes;
      continue;
    }
    const Node& node = graph.nodes()[size_t(graph.producer(value))];
    text += fmt::format("  {:>12} at {:>12}  %{} {} {}\n", where.bytes, where.offset, value.id,
                        to_string(graph.type(value)), graph.describe(node));
  }
  if (rest > 0) {
    text += fmt::format("  {:>12} in {} more\n", rest, plan.alive_at_peak.size() - kRowsAtPeak);
  }
  const Placement& workspace = plan.workspaces[size_t(plan.peak_node)];
  if (workspace.bytes > 0) {
    text += fmt::format("  {:>12} at {:>12}  workspace\n", workspace.bytes, workspace.offset);
  }
  return text;
}

}  // namespace pounce
