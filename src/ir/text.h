// The text form of a graph: what `-v` logs, golden tests and bug reports hold.
//
//   batch_invariant                      (in a graph that needs it)
//   %0:u8[8,16,16,3] = input() "images"
//   %1:f32[32,3,3,3] = variable() {role="parameter"} "features.0.weight"
//   %3:f32[8,16,16,32] = conv2d(%2, %1) {dilation=[1,1], groups=1, ...} "features.0"
//   store %1 <- %9
//   output %3 "logits"
#pragma once

#include <string>
#include <string_view>

#include "ir/graph.h"

namespace pounce {

std::string print_graph(const Graph& graph);

// The inverse: print_graph(parse_graph(text)) == text for text that print_graph made.
// Throws BadData naming the line and what was expected there. The result is verified.
Graph parse_graph(std::string_view text);

}  // namespace pounce
