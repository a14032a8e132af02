#include "train/step.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "autodiff/autodiff.h"
#include "base/error.h"
#include "passes/rename_variables.h"

namespace pounce {
namespace {

// Tags of check_finite; gradients follow in the order of the parameters.
constexpr int64_t kLogitsTag = 0;
constexpr int64_t kLossTag = 1;
constexpr int64_t kFirstGradientTag = 2;

constexpr char kTracked[] = ".num_batches_tracked";

class StepBuilder {
 public:
  explicit StepBuilder(const StepSpec& spec) : spec_(spec) {
    stop_variable_ = graph_.add_variable(names::kStop, {DType::I64, {2}}, VariableRole::Scalar);
    stop_ = stop_variable_;
  }

  // Forward and backward; returns the gradient of each trained entry.
  std::vector<Value> add_passes(int64_t batch) {
    network_ = add_network(graph_, spec_, batch, true);
    Value logits = network_.logits;
    Value labels = graph_.add_input(names::kLabels, {DType::I32, {batch}});
    Value weights = graph_.add_input(names::kSampleWeights, {DType::F32, {batch}});
    Value targets =
        graph_.add_one(OpKind::OneHot, {labels},
                       {{"classes", spec_.classes}, {"smoothing", spec_.label_smoothing}});
    Value loss = add_loss(logits, targets, weights);
    graph_.add_output(names::kLogits, logits);
    graph_.add_output(names::kLoss, loss);
    graph_.add_output(names::kRank, graph_.add_one(OpKind::TargetRank, {logits, labels}));
    check(logits, kLogitsTag);
    check(loss, kLossTag);
    Value ones =
        graph_.add_one(OpKind::Fill, {}, {{"value", 1.0}, {"shape", std::vector<int64_t>{batch}}});
    std::vector<Value> wanted;
    for (const StateEntry& entry : network_.state) {
      if (entry.trained) wanted.push_back(entry.variable);
    }
    return gradients(graph_, std::span(&loss, 1), std::span(&ones, 1), wanted);
  }

  Value add_loss(Value logits, Value targets, Value weights) {
    if (!spec_.loss) {
      return graph_.add_one(OpKind::CrossEntropy, {logits, targets, weights}, {}, "loss");
    }
    Value loss = spec_.loss(graph_, logits, targets);
    if (graph_.type(loss) != graph_.type(weights)) {
      fail_with_hint(ErrorKind::InvalidArgument, "sum or average over the classes: sum(x, {1})",
                     "the loss is {}, expected one number an image: {}",
                     to_string(graph_.type(loss)), to_string(graph_.type(weights)));
    }
    return graph_.add_one(OpKind::Mul, {loss, weights}, {}, "loss");
  }

  void count_batches() {
    for (const StateEntry& entry : network_.state) {
      if (!entry.name.ends_with(kTracked)) continue;
      graph_.store(entry.variable, graph_.add_one(OpKind::Increment, {entry.variable, stop_}));
    }
  }

  Value gradient_variable(const StateEntry& entry) {
    return graph_.add_variable("gradient." + entry.name, entry.type, VariableRole::Gradient);
  }

  // Sums over ranks, checks all gradients, then updates every parameter.
  void add_update_of(const std::vector<StateEntry>& state, std::vector<Value> grads) {
    Value rates = graph_.add_variable(names::kLearningRates, {DType::F32, {spec_.updates}},
                                      VariableRole::Scalar);
    Value updates = graph_.add_variable(names::kUpdates, {DType::I64, {}}, VariableRole::Scalar);
    Value divisor = graph_.add_input(names::kDivisor, {DType::F32, {}});
    for (size_t i : completion_order(grads)) {
      grads[i] = graph_.add_one(OpKind::AllReduce, {grads[i]});
      check(grads[i], kFirstGradientTag + int64_t(i));
    }
    if (spec_.optimizer.clip_norm > 0) divisor = clip(grads, divisor);
    Value rate = graph_.add_one(OpKind::Lookup, {rates, updates});
    UpdateScalars scalars{rate, updates, divisor, stop_};
    auto gradient = grads.begin();
    for (const StateEntry& entry : state) {
      if (entry.trained) add_update(graph_, spec_.optimizer, entry, *gradient++, scalars);
    }
    if (spec_.optimizer.ema_decay > 0) add_moving_averages(state, scalars);
    graph_.store(updates, graph_.add_one(OpKind::Increment, {updates, stop_}));
    reduced_ = std::move(grads);
  }

  // The divisor that also keeps the norm of all gradients together below the limit.
  Value clip(const std::vector<Value>& grads, Value divisor) {
    Value sum =
        graph_.add_one(OpKind::Fill, {}, {{"value", 0.0}, {"shape", std::vector<int64_t>{}}});
    for (Value gradient : grads) sum = graph_.add_one(OpKind::SumSquares, {gradient, sum});
    return graph_.add_one(OpKind::ClipDivisor, {divisor, sum},
                          {{"max_norm", spec_.optimizer.clip_norm}});
  }

  // Of weights and running statistics, as they are after this update.
  void add_moving_averages(const std::vector<StateEntry>& state, const UpdateScalars& scalars) {
    std::map<Value, Value> stored;
    for (const Store& store : graph_.stores()) stored[store.variable] = store.value;
    for (const StateEntry& entry : state) {
      if (entry.type.dtype != DType::F32) continue;
      auto at = stored.find(entry.variable);
      Value value = at == stored.end() ? entry.variable : at->second;
      add_moving_average(graph_, spec_.optimizer.ema_decay, entry, value, scalars);
    }
  }

  // Indices of `grads`, those computed first first: so they are reduced, and lie in memory.
  std::vector<size_t> completion_order(const std::vector<Value>& grads) const {
    std::vector<size_t> order(grads.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return graph_.producer(grads[a]) < graph_.producer(grads[b]);
    });
    return order;
  }

  Graph take() {
    graph_.store(stop_variable_, stop_);
    return std::move(graph_);
  }

  static Network add_network(Graph& graph, const StepSpec& spec, int64_t batch, bool training) {
    Value images =
        graph.add_input(names::kImages, {DType::U8, {batch, spec.image_size, spec.image_size, 3}});
    Value normalized =
        graph.add_one(OpKind::NormalizeImage, {images},
                      {{"mean", std::vector<double>(spec.mean.begin(), spec.mean.end())},
                       {"std", std::vector<double>(spec.std.begin(), spec.std.end())}});
    return spec.network(graph, normalized, spec.classes, training);
  }

  Graph& graph() { return graph_; }
  const Network& network() const { return network_; }
  const std::vector<Value>& reduced() const { return reduced_; }

 private:
  void check(Value value, int64_t tag) {
    stop_ = graph_.add_one(OpKind::CheckFinite, {value, stop_}, {{"tag", tag}});
  }

  const StepSpec& spec_;
  Graph graph_;
  Network network_;
  Value stop_variable_;
  Value stop_;
  std::vector<Value> reduced_;
};

}  // namespace

Graph build_fused_step(const StepSpec& spec, int64_t batch) {
  StepBuilder builder(spec);
  std::vector<Value> grads = builder.add_passes(batch);
  const std::vector<StateEntry>& state = builder.network().state;
  builder.add_update_of(state, std::move(grads));
  auto reduced = builder.reduced().begin();
  for (const StateEntry& entry : state) {
    if (entry.trained) builder.graph().store(builder.gradient_variable(entry), *reduced++);
  }
  builder.count_batches();
  return builder.take();
}

Graph build_accumulate(const StepSpec& spec, int64_t batch) {
  StepBuilder builder(spec);
  std::vector<Value> grads = builder.add_passes(batch);
  std::vector<Value> sums;
  for (const StateEntry& entry : builder.network().state) {
    if (entry.trained) sums.push_back(builder.gradient_variable(entry));
  }
  for (size_t i : builder.completion_order(grads)) {
    builder.graph().store(sums[i], builder.graph().add_one(OpKind::Add, {sums[i], grads[i]}));
  }
  builder.count_batches();
  return builder.take();
}

Graph build_update(const StepSpec& spec) {
  StepBuilder builder(spec);
  std::vector<StateEntry> state = network_state(spec);
  std::vector<Value> sums;
  for (StateEntry& entry : state) {
    bool averaged = spec.optimizer.ema_decay > 0 && entry.type.dtype == DType::F32;
    if (!entry.trained && !averaged) continue;
    entry.variable = builder.graph().add_variable(
        entry.name, entry.type, entry.trained ? VariableRole::Parameter : VariableRole::Statistic);
    if (!entry.trained) continue;
    sums.push_back(builder.gradient_variable(entry));
  }
  builder.add_update_of(state, sums);
  auto sum = sums.begin();
  for (const StateEntry& entry : state) {
    if (!entry.trained) continue;
    std::vector<int64_t> extents(entry.type.shape.extents().begin(),
                                 entry.type.shape.extents().end());
    builder.graph().store(
        *sum++, builder.graph().add_one(OpKind::Fill, {}, {{"value", 0.0}, {"shape", extents}}));
  }
  return builder.take();
}

Graph build_evaluation(const StepSpec& spec, int64_t batch) {
  Graph graph;
  graph.require_batch_invariance();
  Network network = StepBuilder::add_network(graph, spec, batch, false);
  graph.add_output(names::kLogits, network.logits);
  if (spec.optimizer.ema_decay == 0) return graph;
  return rename_variables(graph, ema_variable);
}

std::vector<StateEntry> network_state(const StepSpec& spec) {
  Graph graph;
  return StepBuilder::add_network(graph, spec, 1, false).state;
}

std::string describe_stop_tag(const StepSpec& spec, int64_t tag) {
  if (tag == kLogitsTag) return "logits";
  if (tag == kLossTag) return "loss";
  int64_t index = kFirstGradientTag;
  for (const StateEntry& entry : network_state(spec)) {
    if (entry.trained && index++ == tag) return "the gradient of " + entry.name;
  }
  return "an unknown tensor";
}

}  // namespace pounce
