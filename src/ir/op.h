// The op table: one row an op with its inputs, attributes, shape rule, cost, aliasing and, for
// elementwise ops, its formula. Gradient rules stand in src/autodiff under the same names.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/attributes.h"

namespace pounce {

class Graph;
struct Node;
struct TensorType;

enum class OpKind : uint8_t {
  // leaves and control
  Input,
  Variable,
  Fill,
  Copy,
  Increment,
  Lookup,
  CheckFinite,
  AllReduce,
  // images and labels
  NormalizeImage,
  OneHot,
  // elementwise, as elementwise.def lists them
  Add,
  Mul,
  Relu,
  ReluBwd,
  // linear algebra
  MatMul,
  BiasAdd,
  BiasBwd,
  // convolution
  Conv2d,
  Conv2dBwdData,
  Conv2dBwdWeights,
  // normalisation
  BatchNorm,
  BatchNormBwd,
  BatchNormInference,
  // pooling
  MaxPool,
  MaxPoolBwd,
  GlobalAvgPool,
  GlobalAvgPoolBwd,
  // loss and metrics
  CrossEntropy,
  CrossEntropyBwd,
  TargetRank,
  // optimizers
  Sgd,
  Adam,
  SumSquares,
  ClipDivisor,
  MovingAverage,
};

// Inputs and variables: what a graph is given rather than computes.
constexpr bool is_leaf(OpKind op) {
  return op == OpKind::Input || op == OpKind::Variable;
}

struct AttributeInfo {
  std::string_view name;
  AttributeType type;
  std::optional<AttributeValue> default_value;  // none: required
};

// Output `output` lies, or may lie, in the memory of input `input`.
struct Alias {
  int output;
  int input;
};

// What a shape rule sees. It throws InvalidArgument with a sentence about the shapes; the graph
// adds the layer's name.
struct InferInput {
  std::span<const TensorType> inputs;
  const Attributes& attributes;
};

struct OpInfo {
  OpKind kind;
  std::string_view name;
  std::vector<std::string_view> inputs;
  std::vector<std::string_view> outputs;
  std::vector<AttributeInfo> attributes;
  // Types of the outputs. Null for leaves, whose type is given.
  std::vector<TensorType> (*infer)(const InferInput&);
  // Multiplications and additions of one run, each counted; null: negligible.
  double (*flops)(const Graph&, const Node&) = nullptr;
  // In place: every implementation must be able to write the output over the input.
  std::vector<Alias> in_place = {};
  // Elementwise formula over a, b; empty for other ops.
  std::string_view formula = {};
  // Two equal nodes may be one. False for communication and for what is cheaper made twice.
  bool mergeable = true;
};

const OpInfo& op_info(OpKind kind);
// Null when no op has this name.
const OpInfo* find_op(std::string_view name);
// Every row, in the order of OpKind.
std::span<const OpInfo> op_table();

}  // namespace pounce
