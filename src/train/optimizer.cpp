#include "train/optimizer.h"

namespace pounce {
namespace {

Value moment(Graph& graph, const char* kind, const StateEntry& entry) {
  return graph.add_variable(std::string("optimizer.") + kind + "." + entry.name, entry.type,
                            VariableRole::Optimizer);
}

}  // namespace

void add_update(Graph& graph, const OptimizerSettings& settings, const StateEntry& entry,
                Value gradient, const UpdateScalars& scalars) {
  double decay = entry.decayed ? settings.weight_decay : 0;
  if (settings.kind == OptimizerKind::Sgd) {
    Value velocity = moment(graph, "velocity", entry);
    std::vector<Value> next = graph.add(
        OpKind::Sgd,
        {entry.variable, gradient, velocity, scalars.learning_rate, scalars.divisor, scalars.stop},
        {{"momentum", settings.momentum},
         {"nesterov", int64_t(settings.nesterov)},
         {"weight_decay", decay}},
        entry.name);
    graph.store(entry.variable, next[0]);
    graph.store(velocity, next[1]);
    return;
  }
  Value first = moment(graph, "first_moment", entry);
  Value second = moment(graph, "second_moment", entry);
  std::vector<Value> next =
      graph.add(OpKind::Adam,
                {entry.variable, gradient, first, second, scalars.learning_rate, scalars.updates,
                 scalars.divisor, scalars.stop},
                {{"beta1", settings.beta1},
                 {"beta2", settings.beta2},
                 {"eps", settings.eps},
                 {"decoupled", int64_t(settings.kind == OptimizerKind::AdamW)},
                 {"weight_decay", decay}},
                entry.name);
  graph.store(entry.variable, next[0]);
  graph.store(first, next[1]);
  graph.store(second, next[2]);
}

std::string ema_variable(const std::string& name) {
  return "ema." + name;
}

void add_moving_average(Graph& graph, double decay, const StateEntry& entry, Value value,
                        const UpdateScalars& scalars) {
  Value average = graph.add_variable(ema_variable(entry.name), entry.type, VariableRole::Optimizer);
  graph.store(average,
              graph.add_one(OpKind::MovingAverage, {average, value, scalars.updates, scalars.stop},
                            {{"decay", decay}}, entry.name));
}

}  // namespace pounce
