// When each value of a graph is needed: the ground of the planner.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace pounce {

// Nodes are counted from 0; a leaf is there before node 0 (first = -1), an output or stored value
// after the last (last = number of nodes).
struct Lifetime {
  int first = -1;
  int last = -1;
};

// By Value id. A variable without a store lives to the end; one with a store until its last reader.
std::vector<Lifetime> find_lifetimes(const Graph& graph);

}  // namespace pounce
