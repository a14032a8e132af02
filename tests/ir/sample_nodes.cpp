#include "ir/sample_nodes.h"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

namespace pounce {
namespace {

using Ints = std::vector<int64_t>;
using Floats = std::vector<double>;

TensorType f32(Shape shape) {
  return {DType::F32, shape};
}

const TensorType kScalar = f32({});
const TensorType kCounter = {DType::I64, {}};
const TensorType kStop = {DType::I64, {2}};
const TensorType kImage = f32({2, 6, 5, 4});
const TensorType kChannels = f32({4});
const TensorType kMatrix = f32({3, 4});

std::vector<SampleNode> control_samples() {
  return {{OpKind::Fill, {}, {{"value", 0.1}, {"shape", Ints{2, 3}}}},
          {OpKind::Copy, {kMatrix}},
          {OpKind::Cast, {kMatrix}, {{"dtype", std::string("f16")}}},
          {OpKind::Select, {kStop, kMatrix, kMatrix}},
          {OpKind::Increment, {kCounter, kStop}},
          {OpKind::Lookup, {f32({5}), kCounter}},
          {OpKind::CheckFinite, {kMatrix, kStop}, {{"tag", int64_t{3}}}},
          {OpKind::AllReduce, {kMatrix}},
          {OpKind::NormalizeImage,
           {{DType::U8, {2, 6, 5, 3}}},
           {{"mean", Floats{0.485, 0.456, 0.406}}, {"std", Floats{0.229, 1, 1e-30}}}},
          {OpKind::OneHot, {{DType::I32, {3}}}, {{"classes", int64_t{4}}}}};
}

std::vector<SampleNode> arithmetic_samples() {
  return {{OpKind::Add, {kMatrix, kMatrix}},
          {OpKind::Mul, {kMatrix, kMatrix}},
          {OpKind::Relu, {kMatrix}},
          {OpKind::ReluBwd, {kMatrix, kMatrix}}};
}

// Those from sub on have no attributes either.
std::vector<SampleNode> elementwise_samples() {
  std::vector<SampleNode> samples;
  for (int op = int(OpKind::Sub); op <= int(OpKind::HardSwishBwd); ++op) {
    size_t inputs = op_info(OpKind(op)).inputs.size();
    samples.push_back({OpKind(op), std::vector<TensorType>(inputs, kMatrix)});
  }
  return samples;
}

std::vector<SampleNode> linear_samples() {
  return {{OpKind::MatMul, {kMatrix, f32({5, 4})}, {{"transpose_b", int64_t{1}}}},
          {OpKind::BiasAdd, {kMatrix, kChannels}},
          {OpKind::BiasBwd, {kMatrix}},
          {OpKind::BatchMatMul, {f32({2, 3, 4}), f32({2, 5, 4})}, {{"transpose_b", int64_t{1}}}}};
}

std::vector<SampleNode> layout_samples() {
  const int64_t one = 1;
  return {{OpKind::Reshape, {kMatrix}, {{"shape", Ints{2, 6}}}},
          {OpKind::Transpose, {kMatrix}, {{"permutation", Ints{1, 0}}}},
          {OpKind::Slice, {kMatrix}, {{"axis", one}, {"start", one}, {"size", int64_t{2}}}},
          {OpKind::Pad, {kMatrix}, {{"axis", one}, {"before", one}, {"after", int64_t{2}}}},
          {OpKind::Concat, {kMatrix, kMatrix, f32({3, 1})}, {{"axis", one}}},
          {OpKind::Broadcast, {f32({3, 1})}, {{"shape", Ints{2, 3, 4}}}}};
}

std::vector<SampleNode> reduce_samples() {
  const Attributes axes = {{"axes", Ints{0, 2}}};
  const TensorType cube = f32({2, 3, 4}), rows = f32({3});
  return {
      {OpKind::ReduceSum, {cube}, axes},          {OpKind::ReduceMean, {cube}, axes},
      {OpKind::ReduceMax, {cube}, axes},          {OpKind::ReduceMaxBwd, {rows, cube, rows}, axes},
      {OpKind::LargestMagnitude, {cube}},         {OpKind::Softmax, {kMatrix}},
      {OpKind::SoftmaxBwd, {kMatrix, kMatrix}},   {OpKind::LogSoftmax, {kMatrix}},
      {OpKind::LogSoftmaxBwd, {kMatrix, kMatrix}}};
}

std::vector<SampleNode> window_samples() {
  const TensorType weights = f32({8, 3, 3, 4}), grad_y = f32({2, 3, 3, 8});
  const Attributes stride = {{"stride", Ints{2, 2}}, {"padding", Ints{1, 1}}};
  Attributes data = stride, filter = stride;
  data.set("height", int64_t{6}), data.set("width", int64_t{5});
  filter.set("kernel", Ints{3, 3});
  Attributes pool = stride;
  pool.set("kernel", Ints{3, 3});
  Attributes pool_bwd = pool;
  pool_bwd.set("height", int64_t{6}), pool_bwd.set("width", int64_t{5});
  const TensorType pooled = f32({2, 3, 3, 4});
  return {
      {OpKind::Conv2d, {kImage, weights}, stride},
      {OpKind::Conv2dBwdData, {grad_y, weights}, data},
      {OpKind::Conv2dBwdWeights, {kImage, grad_y}, filter},
      {OpKind::BatchNorm, {kImage, kChannels, kChannels, kChannels, kChannels}},
      {OpKind::BatchNormBwd, {kImage, kImage, kChannels, kChannels, kChannels}},
      {OpKind::BatchNormInference, {kImage, kChannels, kChannels, kChannels, kChannels}},
      {OpKind::LayerNorm, {kMatrix, kChannels, kChannels}},
      {OpKind::LayerNormBwd, {kMatrix, kMatrix, kChannels, f32({3}), f32({3})}},
      {OpKind::MaxPool, {kImage}, pool},
      {OpKind::MaxPoolBwd, {pooled, {DType::U8, pooled.shape}}, pool_bwd},
      {OpKind::GlobalAvgPool, {kImage}},
      {OpKind::GlobalAvgPoolBwd, {f32({2, 4})}, {{"height", int64_t{6}}, {"width", int64_t{5}}}},
      {OpKind::AvgPool, {kImage}, pool},
      {OpKind::AvgPoolBwd, {pooled}, pool_bwd}};
}

std::vector<SampleNode> training_samples() {
  const TensorType rows = f32({3});
  return {{OpKind::CrossEntropy, {kMatrix, kMatrix, rows}},
          {OpKind::CrossEntropyBwd, {rows, kMatrix, kMatrix, rows}},
          {OpKind::TargetRank, {kMatrix, {DType::I32, {3}}}},
          {OpKind::Sgd, {kMatrix, kMatrix, kMatrix, kScalar, kScalar, kStop}},
          {OpKind::Adam, {kMatrix, kMatrix, kMatrix, kMatrix, kScalar, kCounter, kScalar, kStop}},
          {OpKind::SumSquares, {kMatrix, kScalar}},
          {OpKind::ClipDivisor, {kScalar, kScalar}, {{"max_norm", 1.5}}},
          {OpKind::MovingAverage, {kMatrix, kMatrix, kCounter, kStop}, {{"decay", 0.99}}},
          {OpKind::LossScale, {kScalar, {DType::I64, {3}}, kStop, kStop}}};
}

std::vector<SampleNode> fused_samples() {
  auto with = [](const char* program, Attributes more = {}) {
    more.set("program", std::string(program));
    return more;
  };
  const Attributes stride = {{"stride", Ints{2, 2}}, {"padding", Ints{1, 1}}};
  const std::vector<TensorType> norm = {kImage, kChannels, kChannels, kChannels, kChannels};
  std::vector<TensorType> residual = norm;
  residual.push_back(kImage);
  return {{OpKind::Fused, {kMatrix, kMatrix}, with("add(0,1); relu(2)")},
          {OpKind::Conv2dFused, {kImage, f32({8, 3, 3, 4}), f32({8})}, with("add(0,1)", stride)},
          {OpKind::MatMulFused,
           {kMatrix, f32({5, 4}), f32({5})},
           with("add(0,1); tanh(2)", {{"transpose_b", int64_t{1}}})},
          {OpKind::BatchNormFused, residual, with("add(0,1); relu(2)")},
          {OpKind::BatchNormInferenceFused, residual, with("add(0,1)")}};
}

std::vector<SampleNode> all_samples() {
  std::vector<SampleNode> all;
  for (auto* family :
       {control_samples, arithmetic_samples, elementwise_samples, linear_samples, layout_samples,
        reduce_samples, window_samples, training_samples, fused_samples}) {
    for (SampleNode& sample : family()) all.push_back(std::move(sample));
  }
  return all;
}

}  // namespace

std::span<const SampleNode> sample_nodes() {
  static const std::vector<SampleNode> samples = all_samples();
  return samples;
}

const SampleNode& sample_node(OpKind op) {
  for (const SampleNode& sample : sample_nodes()) {
    if (sample.op == op) return sample;
  }
  throw std::runtime_error(fmt::format("no sample of {}", op_info(op).name));
}

Graph build_sample(OpKind op, const std::vector<TensorType>& inputs, const Attributes& attributes) {
  Graph graph;
  std::vector<Value> values;
  for (const TensorType& type : inputs) {
    values.push_back(graph.add_input(fmt::format("x{}", values.size()), type));
  }
  std::vector<Value> made = graph.add(op, values, attributes, "layer");
  for (size_t i = 0; i < made.size(); ++i) graph.add_output(fmt::format("y{}", i), made[i]);
  return graph;
}

}  // namespace pounce
