// Checks that a graph keeps every rule of graph.h: run after each pass and on every parsed graph.
#pragma once

#include "ir/graph.h"

namespace pounce {

// Throws Internal, naming the node and the rule it breaks:
// every input is made by an earlier node; attributes are complete; output types are what the op
// table infers; stores and outputs name values of the graph; one store a variable, of its type.
void verify_graph(const Graph& graph);

}  // namespace pounce
