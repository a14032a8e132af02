// The layers networks are built from. Each call appends to a graph and records the parameters it
// needs: their names as torchvision's state_dict has them, how they start, and how files hold them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace pounce {

enum class InitRule : uint8_t {
  Zeros,
  Ones,
  KaimingNormal,  // normal, std = sqrt(2 / fan_out) (He et al. 2015)
  UniformFanIn,   // uniform in +-1 / sqrt(fan_in): torch.nn.Linear's default
};

// How a file lays the tensor out, where it differs from memory.
enum class FileLayout : uint8_t {
  Same,
  ConvKcrs,  // K,C,R,S in files, K,R,S,C in memory
};

// One entry of a network's state: a parameter or a running statistic.
struct StateEntry {
  std::string name;  // torchvision's
  Value variable;
  TensorType type;  // in memory
  InitRule init = InitRule::Zeros;
  double fan = 1;  // fan_in or fan_out, as the rule needs
  FileLayout layout = FileLayout::Same;
  bool trained = true;   // false: statistics
  bool decayed = false;  // weight decay applies: weights, not norms and biases
};

class Layers {
 public:
  // Training mode uses batch statistics and stores the running ones; evaluation mode uses the
  // running ones and stores nothing. The graph must outlive this object.
  Layers(Graph& graph, bool training) : graph_(graph), training_(training) {}

  struct Window {
    int64_t kernel = 1;
    int64_t stride = 1;
    int64_t padding = 0;
    // Of convolutions alone.
    int64_t dilation = 1;
    int64_t groups = 1;
    bool bias = false;
  };

  // x N,H,W,C.
  Value conv(const std::string& name, Value x, int64_t out_channels, Window window);
  Value batch_norm(const std::string& name, Value x);
  // Over the last axis.
  Value layer_norm(const std::string& name, Value x);
  Value relu(Value x);
  Value add(Value a, Value b);
  Value max_pool(Value x, Window window);
  Value avg_pool(Value x, Window window);
  // N,H,W,C to N,C.
  Value global_avg_pool(Value x);
  // x N,C with bias.
  Value linear(const std::string& name, Value x, int64_t out_features);
  // Any other trained tensor; `variable` of the entry is filled in.
  Value parameter(StateEntry entry);

  const std::vector<StateEntry>& state() const { return state_; }
  std::vector<StateEntry> take_state() { return std::move(state_); }

 private:
  Value statistic(const std::string& name, TensorType type, InitRule init);

  Graph& graph_;
  bool training_;
  std::vector<StateEntry> state_;
};

}  // namespace pounce
