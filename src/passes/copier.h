// Rebuilds a graph node by node: what every pass does while it changes something.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace pounce {

class GraphCopier {
 public:
  explicit GraphCopier(const Graph& source);

  // Appends `node` of the source to the result, its inputs as mapped so far.
  void copy(const Node& node);
  // Uses of `from` in the source become uses of `to` in the result.
  void map(Value from, Value to) { map_[size_t(from.id)] = to; }
  Value mapped(Value value) const { return map_[size_t(value.id)]; }
  std::vector<Value> mapped_inputs(const Node& node) const;

  Graph& result() { return result_; }
  // Copies stores and outputs; the copier is spent.
  Graph finish();

 private:
  const Graph& source_;
  Graph result_;
  std::vector<Value> map_;
};

}  // namespace pounce
