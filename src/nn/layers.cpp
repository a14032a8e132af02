#include "nn/layers.h"

#include "base/error.h"

namespace pounce {

Value Layers::parameter(StateEntry entry) {
  entry.variable = graph_.add_variable(entry.name, entry.type, VariableRole::Parameter);
  state_.push_back(std::move(entry));
  return state_.back().variable;
}

Value Layers::statistic(const std::string& name, TensorType type, InitRule init) {
  Value variable = graph_.add_variable(name, type, VariableRole::Statistic);
  state_.push_back(
      {.name = name, .variable = variable, .type = type, .init = init, .trained = false});
  return variable;
}

Value Layers::conv(const std::string& name, Value x, int64_t out_channels, Window window) {
  if (window.groups < 1) {
    fail(ErrorKind::InvalidArgument, "{}: {} groups, expected 1 or more", name, window.groups);
  }
  int64_t channels = graph_.shape(x)[3] / window.groups;
  Value weights =
      parameter({.name = name + ".weight",
                 .variable = {},
                 .type = {DType::F32, {out_channels, window.kernel, window.kernel, channels}},
                 .init = InitRule::KaimingNormal,
                 .fan = double(out_channels * window.kernel * window.kernel),
                 .layout = FileLayout::ConvKcrs,
                 .decayed = true});
  Value y = graph_.add_one(OpKind::Conv2d, {x, weights},
                           {{"stride", std::vector<int64_t>{window.stride, window.stride}},
                            {"padding", std::vector<int64_t>{window.padding, window.padding}},
                            {"dilation", std::vector<int64_t>{window.dilation, window.dilation}},
                            {"groups", window.groups}},
                           name);
  if (!window.bias) return y;
  Value bias = parameter({.name = name + ".bias",
                          .variable = {},
                          .type = {DType::F32, {out_channels}},
                          .init = InitRule::UniformFanIn,
                          .fan = double(window.kernel * window.kernel * channels)});
  return add(y, bias);
}

Value Layers::batch_norm(const std::string& name, Value x) {
  const Shape& shape = graph_.shape(x);
  TensorType channels{DType::F32, {shape[shape.rank() - 1]}};
  Value gamma = parameter(
      {.name = name + ".weight", .variable = {}, .type = channels, .init = InitRule::Ones});
  Value beta = parameter(
      {.name = name + ".bias", .variable = {}, .type = channels, .init = InitRule::Zeros});
  Value mean = statistic(name + ".running_mean", channels, InitRule::Zeros);
  Value var = statistic(name + ".running_var", channels, InitRule::Ones);
  statistic(name + ".num_batches_tracked", {DType::I64, {}}, InitRule::Zeros);
  if (!training_) {
    return graph_.add_one(OpKind::BatchNormInference, {x, gamma, beta, mean, var}, {}, name);
  }
  std::vector<Value> made = graph_.add(OpKind::BatchNorm, {x, gamma, beta, mean, var}, {}, name);
  graph_.store(mean, made[3]);
  graph_.store(var, made[4]);
  return made[0];
}

Value Layers::layer_norm(const std::string& name, Value x) {
  const Shape& shape = graph_.shape(x);
  TensorType channels{DType::F32, {shape[shape.rank() - 1]}};
  Value gamma = parameter(
      {.name = name + ".weight", .variable = {}, .type = channels, .init = InitRule::Ones});
  Value beta = parameter(
      {.name = name + ".bias", .variable = {}, .type = channels, .init = InitRule::Zeros});
  return graph_.add(OpKind::LayerNorm, {x, gamma, beta}, {}, name)[0];
}

Value Layers::relu(Value x) {
  return graph_.add_one(OpKind::Relu, {x});
}

Value Layers::add(Value a, Value b) {
  return graph_.add_one(OpKind::Add, {a, b});
}

Value Layers::max_pool(Value x, Window window) {
  return graph_.add(OpKind::MaxPool, {x},
                    {{"kernel", std::vector<int64_t>{window.kernel, window.kernel}},
                     {"stride", std::vector<int64_t>{window.stride, window.stride}},
                     {"padding", std::vector<int64_t>{window.padding, window.padding}}})[0];
}

Value Layers::avg_pool(Value x, Window window) {
  return graph_.add_one(OpKind::AvgPool, {x},
                        {{"kernel", std::vector<int64_t>{window.kernel, window.kernel}},
                         {"stride", std::vector<int64_t>{window.stride, window.stride}},
                         {"padding", std::vector<int64_t>{window.padding, window.padding}}});
}

Value Layers::global_avg_pool(Value x) {
  return graph_.add_one(OpKind::GlobalAvgPool, {x});
}

Value Layers::linear(const std::string& name, Value x, int64_t out_features) {
  int64_t features = graph_.shape(x)[1];
  Value weights = parameter({.name = name + ".weight",
                             .variable = {},
                             .type = {DType::F32, {out_features, features}},
                             .init = InitRule::UniformFanIn,
                             .fan = double(features),
                             .decayed = true});
  Value bias = parameter({.name = name + ".bias",
                          .variable = {},
                          .type = {DType::F32, {out_features}},
                          .init = InitRule::UniformFanIn,
                          .fan = double(features)});
  Value product = graph_.add_one(OpKind::MatMul, {x, weights}, {{"transpose_b", int64_t{1}}}, name);
  return graph_.add_one(OpKind::BiasAdd, {product, bias}, {}, name);
}

}  // namespace pounce
