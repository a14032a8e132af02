// Runs any graph once on any backend: lowers, plans, checks the plan, compiles, uploads, runs and
// brings everything back. Arenas stand between guard bytes, which are checked after the run.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "ir/graph.h"
#include "plan/plan.h"

namespace pounce {

// A tensor in host memory, as the backends hold it.
struct HostTensor {
  TensorType type;
  std::vector<std::byte> bytes;

  template <typename T>
  std::span<const T> as() const {
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
  bool operator==(const HostTensor& other) const = default;
};

using Tensors = std::map<std::string, HostTensor>;

// Converts to the type's dtype; halves are rounded to the nearest. One number an element.
HostTensor make_tensor(const TensorType& type, std::span<const double> numbers);
std::vector<double> numbers_of(const HostTensor& tensor);

// ||a - b|| / ||b|| in the Euclidean norm; 0 where both are zero, infinity where only b is. Equal
// non-finite elements count as equal.
double relative_error(const HostTensor& a, const HostTensor& b);

struct RunOptions {
  bool reuse = true;                     // of memory, in the plan
  bool poison = true;                    // NaN bytes in everything that is free
  Communicator* communicator = nullptr;  // null: one process
};

struct RunResult {
  Tensors outputs;
  Tensors variables;  // after the run, all of them
  LoweredGraph lowered;
  Plan plan;
};

// `inputs` and `variables` name a tensor for every leaf of the graph. Throws std::runtime_error for
// a missing tensor, one of another type, or guard bytes that were overwritten.
RunResult run_graph(Backend& backend, const Graph& graph, const Tensors& inputs,
                    const Tensors& variables = {}, const RunOptions& options = {});

}  // namespace pounce
