// Random graphs over a few small shapes, with variables, stores and outputs of every kind: what
// passes and plans are tried on. The same seed gives the same graph and data everywhere.
#pragma once

#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/random.h"
#include "ir/graph.h"

namespace pounce {

class RandomGraph {
 public:
  explicit RandomGraph(uint64_t seed) : random_(seed, RandomPurpose::Test, 0, 0) {
    add_leaves();
    int nodes = 4 + int(random_.below(28));
    for (int i = 0; i < nodes; ++i) add_node();
    add_stores();
    add_outputs();
  }

  const Graph& graph() const { return graph_; }

  // Values for a leaf: small numbers, a pure function of seed and name order.
  static std::vector<float> leaf_values(uint64_t seed, const std::string& name, int64_t elements) {
    RandomStream random(seed, RandomPurpose::Test, 1, std::hash<std::string>{}(name));
    std::vector<float> values(static_cast<size_t>(elements));
    for (float& value : values) value = float(random.uniform(-0.5, 0.5));
    return values;
  }

 private:
  using Ints = std::vector<int64_t>;
  static TensorType f32(Shape shape) { return {DType::F32, shape}; }
  const TensorType image_ = f32({2, 4, 3, 3});
  const TensorType small_image_ = f32({2, 2, 2, 3});
  const TensorType matrix_ = f32({2, 3});
  const TensorType square_ = f32({3, 3});
  const TensorType filter_ = f32({3, 3, 3, 3});
  const TensorType channels_ = f32({3});
  const TensorType cube_ = f32({8, 3, 3});  // an image's elements
  const TensorType half_ = f32({2, 2, 3, 3});

  void add_leaves() {
    values_.push_back(graph_.add_input("images", image_));
    values_.push_back(graph_.add_input("rows", matrix_));
    const TensorType types[] = {image_,  image_,    matrix_,   matrix_,   square_,
                                filter_, channels_, channels_, channels_, small_image_,
                                square_, cube_,     half_};
    for (const TensorType& type : types) {
      std::string name = fmt::format("v{}", variables_.size());
      variables_.push_back(
          graph_.add_variable(name, type, VariableRole(random_.below(kRoleCount))));
      values_.push_back(variables_.back());
    }
  }

  Value pick(const TensorType& type) {
    std::vector<Value> fitting;
    for (Value value : values_) {
      if (graph_.type(value) == type) fitting.push_back(value);
    }
    // Later values more often, so that chains grow.
    size_t back =
        std::min(random_.below(uint32_t(fitting.size())), random_.below(uint32_t(fitting.size())));
    return fitting[fitting.size() - 1 - back];
  }

  void keep(const std::vector<Value>& made) {
    for (Value value : made) values_.push_back(value);
  }

  void add_node() {
    const TensorType& any = graph_.type(values_[random_.below(uint32_t(values_.size()))]);
    const TensorType type = any.dtype == DType::F32 ? any : image_;
    switch (random_.below(22)) {
      case 0:
      case 1:
        return keep(graph_.add(OpKind::Add, {pick(type), pick(type)}));
      case 2:
        return keep(graph_.add(OpKind::Mul, {pick(type), pick(type)}));
      case 3:
      case 4:
        return keep(graph_.add(OpKind::Relu, {pick(type)}));
      case 5:
        return keep(graph_.add(OpKind::ReluBwd, {pick(type), pick(type)}));
      case 6:
        return keep(graph_.add(OpKind::AllReduce, {pick(type)}));
      case 7:
        return keep(graph_.add(OpKind::Copy, {pick(type)}));
      case 8:
        return add_twin();
      case 9:
        return keep(graph_.add(OpKind::MatMul, {pick(matrix_), pick(square_)},
                               {{"transpose_b", int64_t(random_.below(2))}}));
      case 10:
        return add_convolution();
      case 11:
        return add_batch_norm();
      case 12:
        return add_pool();
      case 13:
      case 14:
        return keep(
            graph_.add(pick_op({OpKind::Tanh, OpKind::Sigmoid, OpKind::Gelu, OpKind::GeluTanh,
                                OpKind::Silu, OpKind::HardSwish, OpKind::HardSigmoid, OpKind::Neg,
                                OpKind::Softmax, OpKind::LogSoftmax}),
                       {pick(type)}));
      case 15:
        return keep(graph_.add(
            pick_op({OpKind::TanhBwd, OpKind::SigmoidBwd, OpKind::GeluBwd, OpKind::Max, OpKind::Min,
                     OpKind::MaxShare, OpKind::Sub, OpKind::SoftmaxBwd, OpKind::HardSwishBwd}),
            {pick(type), pick(type)}));
      case 16:
        return add_broadcast();
      case 17:
        return add_reduction();
      case 18:
        return add_layout();
      case 19:
        return add_join();
      case 20:
        return add_layer_norm();
      default:
        return keep(random_.below(2) == 0
                        ? graph_.add(OpKind::BiasAdd, {pick(matrix_), pick(channels_)}, {}, "fc")
                        : graph_.add(OpKind::BiasBwd, {pick(matrix_)}));
    }
  }

  // A second node that computes what an earlier one does.
  void add_twin() {
    Node node = graph_.nodes()[random_.below(uint32_t(graph_.nodes().size()))];
    if (node.op == OpKind::Input || node.op == OpKind::Variable) return;
    keep(graph_.add(node.op, node.inputs, node.attributes, "twin"));
  }

  void add_convolution() {
    bool halved = random_.below(3) == 0;
    int64_t stride = halved ? 2 : 1;
    Attributes window = {{"stride", std::vector<int64_t>{stride, stride}},
                         {"padding", std::vector<int64_t>{1, 1}}};
    if (random_.below(2) == 0) {
      return keep_activated(
          graph_.add(OpKind::Conv2d, {pick(image_), pick(filter_)}, window, "conv"));
    }
    Value y = pick(halved ? small_image_ : image_);
    if (random_.below(2) == 0) {
      window.set("kernel", std::vector<int64_t>{3, 3});
      return keep(graph_.add(OpKind::Conv2dBwdWeights, {pick(image_), y}, window));
    }
    window.set("height", int64_t{4}), window.set("width", int64_t{3});
    keep(graph_.add(OpKind::Conv2dBwdData, {y, pick(filter_)}, window));
  }

  void add_batch_norm() {
    const TensorType& type = random_.below(2) == 0 ? image_ : small_image_;
    std::vector<Value> inputs = {pick(type)};
    for (int i = 0; i < 4; ++i) inputs.push_back(pick(channels_));
    if (random_.below(2) == 0) {
      inputs.insert(inputs.begin(), pick(type));
      inputs.pop_back();
      return keep(graph_.add(OpKind::BatchNormBwd, inputs));
    }
    if (random_.below(4) == 0) {
      // A variance of at least 0.
      inputs[4] = graph_.add_one(OpKind::Sigmoid, {inputs[4]});
      return keep_activated(graph_.add(OpKind::BatchNormInference, inputs, {}, "bn"));
    }
    // A finite result whatever the statistics hold.
    keep_activated(graph_.add(OpKind::BatchNorm, inputs, {}, "bn"));
  }

  // Often with what networks put behind a normalisation, which nothing else reads.
  void keep_activated(std::vector<Value> made) {
    const TensorType& type = graph_.type(made[0]);
    if (random_.below(2) == 0) made[0] = graph_.add_one(OpKind::Add, {made[0], pick(type)});
    if (random_.below(2) == 0) made[0] = graph_.add_one(OpKind::Relu, {made[0]});
    keep(made);
  }

  OpKind pick_op(std::initializer_list<OpKind> ops) {
    return ops.begin()[random_.below(uint32_t(ops.size()))];
  }

  // Arithmetic of an image and what repeats along it, either way round.
  void add_broadcast() {
    if (random_.below(4) == 0) {
      return keep(graph_.add(OpKind::Broadcast, {pick(channels_)}, {{"shape", Ints{2, 3}}}));
    }
    std::vector<Value> inputs = {pick(image_), pick(random_.below(2) == 0 ? channels_ : square_)};
    if (random_.below(2) == 0) std::swap(inputs[0], inputs[1]);
    keep(graph_.add(pick_op({OpKind::Add, OpKind::Sub, OpKind::Mul, OpKind::Max}), inputs));
  }

  void add_reduction() {
    OpKind op = pick_op({OpKind::ReduceSum, OpKind::ReduceMean, OpKind::ReduceMax});
    switch (random_.below(3)) {
      case 0:
        return keep(graph_.add(op, {pick(image_)}, {{"axes", Ints{1, 2}}}));
      case 1:
        return keep(graph_.add(op, {pick(image_)}, {{"axes", Ints{0, 1, 3}}}));
      default:
        return keep(graph_.add(OpKind::ReduceMaxBwd, {pick(matrix_), pick(image_), pick(matrix_)},
                               {{"axes", Ints{1, 2}}}));
    }
  }

  void add_layout() {
    const int64_t one = 1, two = 2;
    switch (random_.below(6)) {
      case 0:
        return keep(graph_.add(OpKind::Reshape, {pick(image_)}, {{"shape", Ints{8, 3, 3}}}));
      case 1:
        return keep(graph_.add(OpKind::Reshape, {pick(cube_)}, {{"shape", Ints{2, 4, 3, 3}}}));
      case 2:
        return keep(
            graph_.add(OpKind::Transpose, {pick(image_)}, {{"permutation", Ints{0, 1, 3, 2}}}));
      case 3:
        return keep(graph_.add(OpKind::Transpose, {pick(square_)}, {{"permutation", Ints{1, 0}}}));
      case 4:
        return keep(
            graph_.add(OpKind::Slice, {pick(image_)},
                       {{"axis", one}, {"start", int64_t(random_.below(3))}, {"size", two}}));
      default:
        return keep(graph_.add(OpKind::Pad, {pick(half_)},
                               {{"axis", one}, {"before", one}, {"after", one}}));
    }
  }

  void add_join() {
    if (random_.below(2) == 0) {
      return keep(
          graph_.add(OpKind::Concat, {pick(half_), pick(half_)}, {{"axis", int64_t{1}}}, "join"));
    }
    keep(graph_.add(
        OpKind::BatchMatMul, {pick(cube_), pick(cube_)},
        {{"transpose_a", int64_t(random_.below(2))}, {"transpose_b", int64_t(random_.below(2))}}));
  }

  void add_layer_norm() {
    const TensorType& type = random_.below(2) == 0 ? image_ : matrix_;
    if (random_.below(3) > 0) {
      return keep(graph_.add(OpKind::LayerNorm, {pick(type), pick(channels_), pick(channels_)}));
    }
    Value statistics =
        graph_.add_one(OpKind::ReduceMean, {pick(type)}, {{"axes", Ints{type.shape.rank() - 1}}});
    keep(graph_.add(OpKind::LayerNormBwd,
                    {pick(type), pick(type), pick(channels_), statistics, statistics}));
  }

  void add_pool() {
    Attributes window = {{"kernel", std::vector<int64_t>{3, 3}},
                         {"stride", std::vector<int64_t>{1, 1}},
                         {"padding", std::vector<int64_t>{1, 1}}};
    switch (random_.below(4)) {
      case 0:
        return keep(graph_.add(OpKind::AvgPool, {pick(image_)}, window));
      case 1:
        return keep(graph_.add(OpKind::GlobalAvgPool, {pick(image_)}));
      case 2:
        return keep(graph_.add(OpKind::GlobalAvgPoolBwd, {pick(matrix_)},
                               {{"height", int64_t{4}}, {"width", int64_t{3}}}));
      default:
        return keep(graph_.add(OpKind::MaxPool, {pick(image_)}, window));
    }
  }

  void add_stores() {
    for (Value variable : variables_) {
      if (random_.below(5) < 3) graph_.store(variable, pick(graph_.type(variable)));
    }
    // Often two variables change places.
    auto is_free = [&](Value variable) {
      for (const Store& store : graph_.stores()) {
        if (store.variable == variable) return false;
      }
      return true;
    };
    if (is_free(variables_[0]) && is_free(variables_[1])) {
      graph_.store(variables_[0], variables_[1]);
      graph_.store(variables_[1], variables_[0]);
    }
  }

  void add_outputs() {
    int count = 1 + int(random_.below(5));
    for (int i = 0; i < count; ++i) {
      graph_.add_output(fmt::format("y{}", i), values_[random_.below(uint32_t(values_.size()))]);
    }
  }

  RandomStream random_;
  Graph graph_;
  std::vector<Value> values_, variables_;
};

}  // namespace pounce
