// What fuse_elementwise is worth on this machine: elementwise chains and normalisations of ResNet's
// sizes with and without it, in turns. The only argument is the number of threads.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>

#include "backend/registry.h"
#include "base/system.h"
#include "engine/session.h"

namespace pounce {
namespace {

constexpr int kRounds = 9, kRunsOfARound = 5;

// Appends to a graph what is measured; leaves are variables, so that nothing is uploaded.
struct Row {
  const char* name;
  std::function<Value(Graph&, const TensorType&)> build;
};

Value leaf(Graph& graph, const char* name, const TensorType& type) {
  return graph.add_variable(name, type, VariableRole::Scalar);
}

// x, gamma, beta, mean and variance of a normalisation.
std::vector<Value> norm_inputs(Graph& graph, const TensorType& x) {
  const TensorType channels = {DType::F32, {x.shape[3]}};
  std::vector<Value> inputs = {leaf(graph, "x", x)};
  for (const char* name : {"a", "b", "c", "d"}) inputs.push_back(leaf(graph, name, channels));
  return inputs;
}

const Row kRows[] = {
    {"add, relu",
     [](Graph& graph, const TensorType& type) {
       Value sum = graph.add_one(OpKind::Add, {leaf(graph, "x", type), leaf(graph, "y", type)});
       return graph.add_one(OpKind::Relu, {sum});
     }},
    {"batch_norm, relu",
     [](Graph& graph, const TensorType& type) {
       Value y = graph.add(OpKind::BatchNorm, norm_inputs(graph, type))[0];
       return graph.add_one(OpKind::Relu, {y});
     }},
    {"batch_norm, add, relu",
     [](Graph& graph, const TensorType& type) {
       Value y = graph.add(OpKind::BatchNorm, norm_inputs(graph, type))[0];
       Value sum = graph.add_one(OpKind::Add, {y, leaf(graph, "skip", type)});
       return graph.add_one(OpKind::Relu, {sum});
     }},
    {"batch_norm_inference, add, relu",
     [](Graph& graph, const TensorType& type) {
       Value y = graph.add_one(OpKind::BatchNormInference, norm_inputs(graph, type));
       Value sum = graph.add_one(OpKind::Add, {y, leaf(graph, "skip", type)});
       return graph.add_one(OpKind::Relu, {sum});
     }},
};

double milliseconds_of_a_run(Session& session) {
  double start = monotonic_seconds();
  for (int i = 0; i < kRunsOfARound; ++i) session.run("row", {});
  return (monotonic_seconds() - start) * 1000 / kRunsOfARound;
}

void measure(Backend& backend, const Row& row, const Shape& shape) {
  Graph graph;
  graph.add_output("y", row.build(graph, {DType::F32, shape}));
  SingleProcess alone;
  SessionOptions apart;
  apart.passes.disabled = {"fuse_elementwise"};
  Session plain(backend, alone, {{"row", graph}}, apart);
  Session fused(backend, alone, {{"row", graph}});
  std::vector<double> times[2];
  for (int round = 0; round < kRounds; ++round) {
    times[0].push_back(milliseconds_of_a_run(plain));
    times[1].push_back(milliseconds_of_a_run(fused));
  }
  double median[2];
  for (int i = 0; i < 2; ++i) {
    std::sort(times[i].begin(), times[i].end());
    median[i] = times[i][kRounds / 2];
  }
  std::printf("%-32s %-18s %8.2f %8.2f %6.2f\n", row.name, to_string(shape).c_str(), median[0],
              median[1], median[0] / median[1]);
}

}  // namespace
}  // namespace pounce

int main(int argc, char** argv) {
  using namespace pounce;
  int threads = argc > 1 ? std::atoi(argv[1]) : 0;
  std::unique_ptr<Backend> backend = make_backend("cpu", {.threads = threads});
  std::printf("%-32s %-18s %8s %8s %6s\n", "", "", "apart ms", "fused ms", "ratio");
  for (const Row& row : kRows) {
    for (const Shape& shape :
         {Shape{16, 112, 112, 64}, Shape{16, 28, 28, 128}, Shape{16, 7, 7, 2048}}) {
      measure(*backend, row, shape);
    }
  }
}
