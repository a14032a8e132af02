// The graph behind a description while the function that describes runs: what an Expr points into.
#pragma once

#include <memory>
#include <string>

#include "api/access.h"
#include "ir/graph.h"
#include "nn/layers.h"
#include "pounce/network.h"
#include "train/step.h"

namespace pounce {

struct ExprGraph : std::enable_shared_from_this<ExprGraph> {
  // The graph must outlive this object.
  ExprGraph(Graph& target, bool training)
      : graph(target), layers(target, training), is_training(training) {}

  Expr wrap(Value value);
  // Throws InvalidArgument for an Expr that is empty, finished or of another graph.
  Value unwrap(const Expr& expr) const;

  // Appends a node of one output.
  Expr add(OpKind op, const std::vector<Expr>& inputs, Attributes attributes = {},
           const std::string& name = "");

  Graph& graph;
  Layers layers;
  bool is_training;
};

// The graph an Expr belongs to. Throws InvalidArgument where there is none.
std::shared_ptr<ExprGraph> graph_of(const Expr& expr);

// What the engine calls for a described network. Every call must describe the same state; the
// builder throws InvalidArgument, naming the difference, where it does not.
NetworkBuilder make_network_builder(NetworkFunction function);
// Null for an empty function: the default loss.
LossBuilder make_loss_builder(LossFunction function);

}  // namespace pounce
