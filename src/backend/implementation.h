// How host backends describe their kernels: for every op an ordered list of implementations, each
// of which may refuse a node with a reason; the last one always works.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/communicator.h"
#include "ir/graph.h"
#include "target/target.h"

namespace pounce {

// What a kernel gets at each run. Pointers follow the order of the node's inputs and outputs.
struct KernelArguments {
  std::span<const void* const> inputs;
  std::span<void* const> outputs;
  void* workspace;  // as many bytes as the implementation asked for
  int threads;      // at most this many; the result must not depend on it
  Communicator* communicator;

  template <typename T>
  const T* input(size_t index) const {
    return static_cast<const T*>(inputs[index]);
  }
  template <typename T>
  T* output(size_t index) const {
    return static_cast<T*>(outputs[index]);
  }
};

using HostKernel = std::function<void(const KernelArguments&)>;

// What an implementation decides by: the node, its graph and the device.
struct NodeContext {
  const Graph& graph;
  const Node& node;
  const Target& target;

  const TensorType& input(size_t index) const { return graph.type(node.inputs[index]); }
  const TensorType& output(size_t index) const { return graph.type(node.outputs[index]); }
};

struct Implementation {
  std::string_view name;
  // The same bits for any number of threads. One that is not is refused everywhere.
  bool thread_invariant = true;
  // A sample's result does not depend on the batch around it. One that does is refused in graphs
  // that need this.
  bool batch_invariant = true;
  // Why it cannot serve this node; nothing when it can. Null: serves every node.
  std::optional<std::string> (*refuse)(const NodeContext&) = nullptr;
  // Scratch bytes; null: none.
  size_t (*workspace_bytes)(const NodeContext&) = nullptr;
  // Everything that can be prepared is prepared here, nothing in the kernel.
  HostKernel (*make)(const NodeContext&) = nullptr;
  // Beyond the op table's.
  std::vector<Alias> in_place = {};
};

}  // namespace pounce
