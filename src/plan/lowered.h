// What a backend decides for each node before memory is planned: the implementation, its scratch
// memory and where it may write in place. Plain data, made without touching a device.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace pounce {

// An implementation that came earlier in the list and why it was not taken.
struct Refusal {
  std::string implementation;
  std::string reason;
};

struct LoweredNode {
  std::string implementation;   // empty for leaves
  size_t workspace_bytes = 0;   // scratch, live during this node only
  std::vector<Alias> in_place;  // outputs it may write over inputs; holds the op table's at least
  std::vector<Refusal> refusals;
};

// One entry a node of the graph, in its order.
struct LoweredGraph {
  std::vector<LoweredNode> nodes;
};

}  // namespace pounce
