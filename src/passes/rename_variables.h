// The same computation over other variables.
#pragma once

#include <functional>
#include <string>

#include "ir/graph.h"

namespace pounce {

// A copy of `graph` whose variables are called `rename(name)`.
Graph rename_variables(const Graph& graph,
                       const std::function<std::string(const std::string&)>& rename);

}  // namespace pounce
