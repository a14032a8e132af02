#include "train/step.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "autodiff/autodiff.h"
#include "base/error.h"
#include "passes/copier.h"
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
    if (spec_.precision != DType::F32) guard_statistics();
    Value seed = loss_gradient(batch);
    std::vector<Value> wanted;
    for (const StateEntry& entry : network_.state) {
      if (entry.trained) wanted.push_back(entry.variable);
    }
    return gradients(graph_, std::span(&loss, 1), std::span(&seed, 1), wanted);
  }

  bool scales_loss() const { return spec_.precision == DType::F16; }

  Value loss_scale() {
    Value known = graph_.find_variable(names::kLossScale);
    if (known.valid()) return known;
    return graph_.add_variable(names::kLossScale, {DType::F32, {}}, VariableRole::Scalar);
  }

  // 1 for each image, or the loss scale.
  Value loss_gradient(int64_t batch) {
    const std::vector<int64_t> shape = {batch};
    if (scales_loss()) {
      return graph_.add_one(OpKind::Broadcast, {loss_scale()}, {{"shape", shape}});
    }
    return graph_.add_one(OpKind::Fill, {}, {{"value", 1.0}, {"shape", shape}});
  }

  // A forward pass whose logits or loss are not finite leaves running statistics as they were, so
  // that the update can be repeated in another precision. PyTorch's keep what overflowed.
  void guard_statistics() {
    const std::vector<Store> stores = graph_.stores();
    for (const Store& store : stores) {
      bool is_average = graph_.role(store.variable) == VariableRole::Statistic &&
                        graph_.type(store.variable).dtype == DType::F32;
      if (!is_average) continue;
      graph_.replace_store(store.variable,
                           graph_.add_one(OpKind::Select, {stop_, store.variable, store.value}));
    }
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

  // Sums over ranks, checks all gradients, then updates every parameter, unless the stop flag is
  // set or, with a loss scale, this update's gradients overflowed.
  void add_update_of(const std::vector<StateEntry>& state, std::vector<Value> grads) {
    Value rates = graph_.add_variable(names::kLearningRates, {DType::F32, {spec_.updates}},
                                      VariableRole::Scalar);
    Value updates = graph_.add_variable(names::kUpdates, {DType::I64, {}}, VariableRole::Scalar);
    Value divisor = graph_.add_input(names::kDivisor, {DType::F32, {}});
    Value sticky = stop_;
    if (scales_loss()) {
      stop_ = graph_.add_one(OpKind::Fill, {},
                             {{"value", 0.0},
                              {"shape", std::vector<int64_t>{2}},
                              {"dtype", std::string(dtype_name(DType::I64))}});
      divisor = graph_.add_one(OpKind::Mul, {divisor, loss_scale()});
    }
    for (size_t i : completion_order(grads)) {
      grads[i] = graph_.add_one(OpKind::AllReduce, {grads[i]});
      check(grads[i], kFirstGradientTag + int64_t(i));
    }
    if (spec_.optimizer.clip_norm > 0) divisor = clip(grads, divisor);
    Value hold = scales_loss() ? adapt_loss_scale(sticky) : stop_;
    Value rate = graph_.add_one(OpKind::Lookup, {rates, updates});
    UpdateScalars scalars{rate, updates, divisor, hold};
    auto gradient = grads.begin();
    for (const StateEntry& entry : state) {
      if (entry.trained) add_update(graph_, spec_.optimizer, entry, *gradient++, scalars);
    }
    if (spec_.optimizer.ema_decay > 0) add_moving_averages(state, scalars);
    graph_.store(updates, graph_.add_one(OpKind::Increment, {updates, hold}));
    reduced_ = std::move(grads);
  }

  // From the flag of this update's overflow, which stop_ is, to the sticky one; returns the flag
  // that holds the update.
  Value adapt_loss_scale(Value sticky) {
    Value counts =
        graph_.add_variable(names::kScaleCounts, {DType::I64, {3}}, VariableRole::Scalar);
    std::vector<Value> next =
        graph_.add(OpKind::LossScale, {loss_scale(), counts, stop_, sticky},
                   {{"growth_interval", spec_.loss_scale.growth_interval}}, names::kLossScale);
    graph_.store(loss_scale(), next[0]);
    graph_.store(counts, next[1]);
    stop_ = next[2];
    return next[3];
  }

  // The divisor that also keeps the norm of all gradients together below the limit.
  Value clip(const std::vector<Value>& grads, Value divisor) {
    Value sum =
        graph_.add_one(OpKind::Fill, {}, {{"value", 0.0}, {"shape", std::vector<int64_t>{}}});
    for (Value gradient : grads) sum = graph_.add_one(OpKind::SumSquares, {gradient, sum});
    // Of scaled gradients the squares may overflow where they do not.
    if (scales_loss()) check(sum, kFirstGradientTag + int64_t(grads.size()));
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

namespace {

bool is_measured(const Graph& graph, const Node& node) {
  if (is_leaf(node.op) || node.op == OpKind::Fill) return false;
  const TensorType& type = graph.type(node.outputs[0]);
  return is_floating(type.dtype) && type.shape.rank() > 1;
}

// Nodes with the names of the layers they stand in: their own, or the last before them.
std::string layer_label(const Node& node, const std::string& last_name) {
  std::string op(op_info(node.op).name);
  if (!node.name.empty()) return fmt::format("{} ({})", node.name, op);
  return last_name.empty() ? op : fmt::format("{} after {}", op, last_name);
}

}  // namespace

Graph build_range_check(const StepSpec& spec, int64_t batch) {
  StepBuilder builder(spec);
  std::vector<Value> grads = builder.add_passes(batch);
  const Graph& step = builder.graph();
  GraphCopier copier(step);
  int loss = step.producer(step.find_output(names::kLoss));
  std::string last_name;
  std::map<std::string, int> times;  // unnamed nodes of one layer may be several
  std::vector<Output> ranges;
  for (size_t i = 0; i < step.nodes().size(); ++i) {
    const Node& node = step.nodes()[i];
    copier.copy(node);
    if (!is_measured(step, node)) continue;
    std::string label =
        fmt::format("{} {}", int(i) < loss ? "forward" : "backward", layer_label(node, last_name));
    if (!node.name.empty()) last_name = node.name;
    Value range =
        copier.result().add_one(OpKind::LargestMagnitude, {copier.mapped(node.outputs[0])});
    int count = ++times[label];
    ranges.push_back({count == 1 ? label : fmt::format("{} #{}", label, count), range});
  }
  Graph result = std::move(copier.result());
  for (const Output& output : step.outputs()) {
    result.add_output(output.name, copier.mapped(output.value));
  }
  for (const Output& output : ranges) result.add_output(output.name, output.value);
  return result;
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
  return tag == index ? "the norm of all gradients" : "an unknown tensor";
}

}  // namespace pounce
