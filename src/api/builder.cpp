#include <algorithm>

#include "api/expr_graph.h"
#include "pounce/network.h"

namespace pounce {
namespace {

void expect_axes(const Expr& x, const char* what, size_t axes) {
  std::vector<int64_t> shape = x.shape();
  if (shape.size() != axes) {
    fail(ErrorKind::InvalidArgument, "{}: x is [{}], expected {} axes", what, fmt::join(shape, ","),
         axes);
  }
}

void expect_positive(const std::string& name, const char* what, int value) {
  if (value < 1)
    fail(ErrorKind::InvalidArgument, "{}: {} {}, expected 1 or more", name, value, what);
}

// Names that would collide with those of a training's own variables.
void check_name(const std::string& name) {
  for (const char* prefix : {"gradient.", "optimizer.", "ema."}) {
    if (name.starts_with(prefix)) {
      fail(ErrorKind::InvalidArgument, "a layer is called \"{}\": names with \"{}\" are taken",
           name, prefix);
    }
  }
  if (name.empty()) fail(ErrorKind::InvalidArgument, "a layer with parameters has no name");
}

// What must be the same whenever the function describes the network.
struct Signature {
  std::string name;
  TensorType type;
  bool trained;
  bool operator==(const Signature& other) const = default;
};

std::vector<Signature> signature_of(const std::vector<StateEntry>& state) {
  std::vector<Signature> list;
  for (const StateEntry& entry : state) list.push_back({entry.name, entry.type, entry.trained});
  return list;
}

void expect_same(const std::vector<Signature>& first, const std::vector<Signature>& now) {
  if (first == now) return;
  auto text = [](const std::vector<Signature>& list, size_t i) {
    return i < list.size() ? fmt::format("\"{}\" {}", list[i].name, to_string(list[i].type))
                           : std::string("nothing");
  };
  auto [a, b] = std::mismatch(first.begin(), first.end(), now.begin(), now.end());
  fail_with_hint(ErrorKind::InvalidArgument,
                 "describe the same parameters for every batch size, in training and evaluation",
                 "the network was described with {} first, then with {}",
                 text(first, size_t(a - first.begin())), text(now, size_t(b - now.begin())));
}

void check_logits(const Graph& graph, Value logits, Value images, int64_t classes) {
  TensorType expected{DType::F32, {graph.shape(images)[0], classes}};
  if (graph.type(logits) == expected) return;
  fail_with_hint(ErrorKind::InvalidArgument, "end it with linear(\"fc\", x, classes), x N,C",
                 "the network gives {}, expected one number a class: {}",
                 to_string(graph.type(logits)), to_string(expected));
}

}  // namespace

Builder::Builder(std::shared_ptr<ExprGraph> graph) : graph_(std::move(graph)) {}

Builder::~Builder() = default;

bool Builder::is_training() const {
  return graph_->is_training;
}

Expr Builder::conv(const std::string& name, const Expr& x, int channels,
                   const ConvOptions& options) {
  check_name(name);
  expect_axes(x, name.c_str(), 4);
  expect_positive(name, "channels", channels);
  return graph_->wrap(graph_->layers.conv(name, graph_->unwrap(x), channels,
                                          {.kernel = options.kernel,
                                           .stride = options.stride,
                                           .padding = options.padding,
                                           .dilation = options.dilation,
                                           .groups = options.groups,
                                           .bias = options.bias}));
}

Expr Builder::batch_norm(const std::string& name, const Expr& x) {
  check_name(name);
  if (x.shape().empty()) expect_axes(x, name.c_str(), 4);
  return graph_->wrap(graph_->layers.batch_norm(name, graph_->unwrap(x)));
}

Expr Builder::layer_norm(const std::string& name, const Expr& x) {
  check_name(name);
  if (x.shape().empty()) expect_axes(x, name.c_str(), 2);
  return graph_->wrap(graph_->layers.layer_norm(name, graph_->unwrap(x)));
}

Expr Builder::linear(const std::string& name, const Expr& x, int features) {
  check_name(name);
  expect_positive(name, "features", features);
  std::vector<int64_t> shape = x.shape();
  if (shape.size() < 2) expect_axes(x, name.c_str(), 2);
  if (shape.back() == 0) expect_positive(name, "input features", 0);
  Expr rows = shape.size() == 2 ? x : reshape(x, {-1, shape.back()});
  Expr y = graph_->wrap(graph_->layers.linear(name, graph_->unwrap(rows), features));
  shape.back() = features;
  return shape.size() == 2 ? y : reshape(y, shape);
}

Expr Builder::parameter(const std::string& name, const std::vector<int64_t>& shape, Init init) {
  constexpr double kDeviation = 0.02;
  check_name(name);
  StateEntry entry{.name = name,
                   .variable = {},
                   .type = {DType::F32, Shape(std::span(shape))},
                   .decayed = shape.size() >= 2};
  if (entry.type.shape.elements() == 0) {
    fail(ErrorKind::InvalidArgument, "parameter \"{}\" is {}: it has no elements", name,
         to_string(entry.type));
  }
  if (init == Init::Ones) entry.init = InitRule::Ones;
  if (init == Init::Normal) {
    entry.init = InitRule::KaimingNormal;
    entry.fan = 2 / (kDeviation * kDeviation);
  }
  return graph_->wrap(graph_->layers.parameter(std::move(entry)));
}

Expr Builder::max_pool(const Expr& x, const PoolOptions& options) {
  expect_axes(x, "max_pool", 4);
  return graph_->wrap(graph_->layers.max_pool(
      graph_->unwrap(x),
      {.kernel = options.kernel, .stride = options.stride, .padding = options.padding}));
}

Expr Builder::avg_pool(const Expr& x, const PoolOptions& options) {
  expect_axes(x, "avg_pool", 4);
  return graph_->wrap(graph_->layers.avg_pool(
      graph_->unwrap(x),
      {.kernel = options.kernel, .stride = options.stride, .padding = options.padding}));
}

Expr Builder::global_avg_pool(const Expr& x) {
  expect_axes(x, "global_avg_pool", 4);
  return graph_->wrap(graph_->layers.global_avg_pool(graph_->unwrap(x)));
}

NetworkBuilder make_network_builder(NetworkFunction function) {
  if (!function) fail(ErrorKind::InvalidArgument, "the network's function is empty");
  auto first = std::make_shared<std::vector<Signature>>();
  return [function = std::move(function), first](Graph& graph, Value images, int64_t classes,
                                                 bool training) {
    auto scope = std::make_shared<ExprGraph>(graph, training);
    Expr logits = Access::describe(function, scope, scope->wrap(images), int(classes));
    Network network{scope->unwrap(logits), {}};
    check_logits(graph, network.logits, images, classes);
    network.state = scope->layers.take_state();
    std::vector<Signature> signature = signature_of(network.state);
    auto is_trained = [](const Signature& entry) { return entry.trained; };
    if (std::none_of(signature.begin(), signature.end(), is_trained)) {
      fail(ErrorKind::InvalidArgument, "the network has no parameter to train");
    }
    if (first->empty()) *first = signature;
    expect_same(*first, signature);
    return network;
  };
}

}  // namespace pounce
