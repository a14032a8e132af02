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
  Cast,
  Select,
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
  Sub,
  Div,
  Max,
  Min,
  MaxShare,
  Neg,
  Exp,
  Log,
  Sqrt,
  SqrtBwd,
  Rsqrt,
  RsqrtBwd,
  Sigmoid,
  SigmoidBwd,
  Tanh,
  TanhBwd,
  Silu,
  SiluBwd,
  Gelu,
  GeluBwd,
  GeluTanh,
  GeluTanhBwd,
  HardSigmoid,
  HardSigmoidBwd,
  HardSwish,
  HardSwishBwd,
  // linear algebra
  MatMul,
  BiasAdd,
  BiasBwd,
  BatchMatMul,
  // layout
  Reshape,
  Transpose,
  Slice,
  Pad,
  Concat,
  Broadcast,
  // reductions
  ReduceSum,
  ReduceMean,
  ReduceMax,
  ReduceMaxBwd,
  LargestMagnitude,
  Softmax,
  SoftmaxBwd,
  LogSoftmax,
  LogSoftmaxBwd,
  // convolution
  Conv2d,
  Conv2dBwdData,
  Conv2dBwdWeights,
  // normalisation
  BatchNorm,
  BatchNormBwd,
  BatchNormInference,
  LayerNorm,
  LayerNormBwd,
  // pooling
  MaxPool,
  MaxPoolBwd,
  GlobalAvgPool,
  GlobalAvgPoolBwd,
  AvgPool,
  AvgPoolBwd,
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
  LossScale,
  // with a program of elementwise ops
  Fused,
  Conv2dFused,
  MatMulFused,
  BatchNormFused,
  BatchNormInferenceFused,
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

// What mixed precision (passes/autocast.h) does with an op.
enum class Autocast : uint8_t {
  Keep,     // stays in f32: sums of many terms, losses, statistics, optimizers
  Follow,   // computes in half where what it reads is half
  Source,   // as its readers want it, by attribute dtype
  Product,  // convolutions and matrix products: in half
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
  // In place: every implementation must be able to write the output over the input. Of variadic ops
  // some may name inputs that a node lacks: read in_place_of (ir/graph.h).
  std::vector<Alias> in_place = {};
  // Elementwise formula over a, b; empty for other ops.
  std::string_view formula = {};
  // Two equal nodes may be one. False for communication and for what is cheaper made twice.
  bool mergeable = true;
  // The last of `inputs` stands for one or more.
  bool variadic = false;
  // So many leading inputs, and those the last of a variadic op stands for, may be f16 or bf16, all
  // of one type; the other inputs stay f32 then. Results that add many terms up (statistics,
  // gradients of weights) come out in f32, the others in the type of these inputs. 0: the op takes
  // no half.
  int half_operands = 0;
  Autocast autocast = Autocast::Keep;
  // With variadic: for none as well.
  bool optional = false;
};

const OpInfo& op_info(OpKind kind);
// Null when no op has this name.
const OpInfo* find_op(std::string_view name);
// Whether input `index` may be f16 or bf16.
bool takes_half(const OpInfo& info, size_t index);
// Elementwise ops of two inputs whose shapes may differ and broadcast (ir/broadcast.h); all other
// elementwise ops need inputs of one shape.
constexpr bool is_broadcast_arithmetic(OpKind op) {
  return op == OpKind::Add || op == OpKind::Sub || op == OpKind::Mul || op == OpKind::Div ||
         op == OpKind::Max || op == OpKind::Min || op == OpKind::MaxShare;
}
// Whether a node of the op may have `count` inputs.
bool accepts_inputs(const OpInfo& info, size_t count);
// What the table calls input `index`; those of a variadic op are numbered: "x0", "x1", ...
std::string input_name(const OpInfo& info, size_t index);
// Every row, in the order of OpKind.
std::span<const OpInfo> op_table();

}  // namespace pounce
