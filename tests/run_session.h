// Runs a graph once through a Session and returns every bit it leaves behind.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/session.h"
#include "random_graph.h"

namespace pounce {

using Bytes = std::vector<uint8_t>;

struct SessionResult {
  std::map<std::string, Bytes> outputs, variables;
  bool operator==(const SessionResult& other) const = default;
};

// Plans are checked and freed memory holds NaN, whatever `options` say. F32 leaves only.
inline SessionResult run_session(Backend& backend, const Graph& graph, uint64_t seed,
                                 SessionOptions options = {}) {
  options.check_plan = true;
  options.compile.poison = true;
  SingleProcess alone;
  Session session(backend, alone, {{"program", graph}}, options);
  std::vector<std::vector<float>> data;
  std::vector<InputData> inputs;
  for (const Node& node : graph.nodes()) {
    if (node.op != OpKind::Input) continue;
    int64_t elements = graph.shape(node.outputs[0]).elements();
    data.push_back(RandomGraph::leaf_values(seed, node.name, elements));
    inputs.push_back({node.name, bytes_of(data.back())});
  }
  for (const std::string& name : session.variable_names()) {
    int64_t elements = session.variable_type(name).shape.elements();
    session.write(name, bytes_of(RandomGraph::leaf_values(seed, name, elements)));
  }
  session.run("program", inputs);
  SessionResult result;
  for (const Output& output : session.graph("program").outputs()) {
    result.outputs[output.name] = session.output<uint8_t>("program", output.name);
  }
  for (const std::string& name : session.variable_names()) {
    result.variables[name] = session.read_values<uint8_t>(name);
  }
  return result;
}

}  // namespace pounce
