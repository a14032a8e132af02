// The table itself, and every op's shape rule.
#include <map>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "expect_error.h"
#include "ir/fused.h"
#include "ir/sample_nodes.h"
#include "ir/verify.h"

namespace pounce {
namespace {

using Ints = std::vector<int64_t>;
using TypeList = std::vector<TensorType>;

TensorType f32(Shape shape) {
  return {DType::F32, shape};
}

TEST(OpTable, RowsAreConsistent) {
  std::set<std::string_view> names;
  for (size_t i = 0; i < op_table().size(); ++i) {
    const OpInfo& info = op_table()[i];
    EXPECT_EQ(size_t(info.kind), i);
    EXPECT_EQ(&op_info(info.kind), &info);
    EXPECT_EQ(find_op(info.name), &info);
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
    EXPECT_FALSE(info.outputs.empty()) << info.name;
    for (const Alias& alias : info.in_place) {
      EXPECT_LT(size_t(alias.output), info.outputs.size()) << info.name;
      EXPECT_TRUE(info.variadic || size_t(alias.input) < info.inputs.size()) << info.name;
    }
    std::set<std::string_view> attributes;
    for (const AttributeInfo& row : info.attributes) {
      EXPECT_TRUE(attributes.insert(row.name).second) << info.name << " " << row.name;
      if (row.default_value) {
        EXPECT_EQ(row.default_value->index(), size_t(row.type)) << info.name << " " << row.name;
      }
    }
  }
  EXPECT_EQ(find_op("no_such_op"), nullptr);
}

TEST(OpTable, EveryOpHasASample) {
  ASSERT_EQ(sample_nodes().size() + 2, op_table().size());
  for (size_t i = 0; i < sample_nodes().size(); ++i) {
    EXPECT_EQ(size_t(sample_nodes()[i].op), i + 2) << "samples stand in the order of OpKind";
    EXPECT_NO_THROW(verify_graph(build_sample(sample_nodes()[i])));
  }
}

TEST(OpTable, InPlaceOutputsHaveTheirInputsBytes) {
  for (const SampleNode& sample : sample_nodes()) {
    Graph graph = build_sample(sample);
    const Node& node = graph.nodes().back();
    for (const Alias& alias : in_place_of(node)) {
      // A reshape's input has the same bytes in another shape.
      EXPECT_EQ(graph.type(node.outputs[size_t(alias.output)]).bytes(),
                graph.type(node.inputs[size_t(alias.input)]).bytes())
          << op_info(sample.op).name;
    }
  }
}

// Which operands may be half, and what comes of them.
TypeList half_types_of(const SampleNode& sample, DType half) {
  TypeList types = sample.inputs;
  for (size_t i = 0; i < types.size(); ++i) {
    if (takes_half(op_info(sample.op), i)) types[i].dtype = half;
  }
  return types;
}

TEST(OpTable, HalfOperandsGiveHalfResultsAndWideSums) {
  // Of those with half operands: outputs that are f32 nevertheless.
  const std::map<OpKind, std::set<size_t>> wide = {{OpKind::Cast, {}},
                                                   {OpKind::CheckFinite, {0}},
                                                   {OpKind::BiasBwd, {0}},
                                                   {OpKind::Conv2dBwdWeights, {0}},
                                                   {OpKind::ReduceSum, {0}},
                                                   {OpKind::ReduceMean, {0}},
                                                   {OpKind::BatchNorm, {1, 2, 3, 4}},
                                                   {OpKind::BatchNormBwd, {1, 2}},
                                                   {OpKind::BatchNormFused, {1, 2, 3, 4}},
                                                   {OpKind::LayerNorm, {1, 2}},
                                                   {OpKind::LayerNormBwd, {1, 2}},
                                                   {OpKind::MaxPool, {1}},
                                                   {OpKind::LargestMagnitude, {0}}};
  int ops = 0;
  for (const SampleNode& sample : sample_nodes()) {
    const OpInfo& info = op_info(sample.op);
    if (info.half_operands == 0) continue;
    ++ops;
    SCOPED_TRACE(info.name);
    EXPECT_LE(size_t(info.half_operands), info.inputs.size());
    for (DType half : {DType::F16, DType::BF16}) {
      Graph graph = build_sample(sample.op, half_types_of(sample, half), sample.attributes);
      Graph in_f32 = build_sample(sample);
      for (size_t i = 0; i < info.outputs.size(); ++i) {
        auto row = wide.find(sample.op);
        bool stays = sample.op == OpKind::Cast || (row != wide.end() && row->second.contains(i));
        TensorType expected = in_f32.type(in_f32.nodes().back().outputs[i]);
        if (!stays) expected.dtype = half;
        EXPECT_EQ(graph.type(graph.nodes().back().outputs[i]), expected) << i;
      }
    }
  }
  EXPECT_GE(ops, 60);
}

TEST(OpTable, OtherOperandsAreNoHalves) {
  for (const SampleNode& sample : sample_nodes()) {
    const OpInfo& info = op_info(sample.op);
    // These take tensors of any type.
    if (sample.op == OpKind::AllReduce || sample.op == OpKind::Lookup ||
        sample.op == OpKind::Select) {
      continue;
    }
    for (size_t i = 0; i < sample.inputs.size(); ++i) {
      if (sample.inputs[i].dtype != DType::F32 || takes_half(info, i)) continue;
      TypeList types = half_types_of(sample, DType::F16);
      types[i].dtype = DType::F16;
      EXPECT_TRUE(throws_error([&] { build_sample(sample.op, types, sample.attributes); },
                               ErrorKind::InvalidArgument, {"layer", "f16"}))
          << info.name << " " << i;
    }
  }
}

TEST(OpTable, HalvesDoNotMix) {
  for (const SampleNode& sample : sample_nodes()) {
    const OpInfo& info = op_info(sample.op);
    for (size_t i = 0; i < sample.inputs.size(); ++i) {
      if (!takes_half(info, i) || (info.half_operands < 2 && !info.variadic)) continue;
      for (DType other : {DType::BF16, DType::F32}) {
        TypeList types = half_types_of(sample, DType::F16);
        types[i].dtype = other;
        EXPECT_TRUE(throws_error([&] { build_sample(sample.op, types, sample.attributes); },
                                 ErrorKind::InvalidArgument, {"layer", "f16"}))
            << info.name << " " << i;
      }
    }
  }
}

TEST(OpTable, AProductOfHalvesMayComeOutWide) {
  Attributes wide = {{"transpose_b", int64_t{1}}, {"wide_output", int64_t{1}}};
  for (DType dtype : {DType::F16, DType::BF16, DType::F32, DType::F64}) {
    Graph graph = build_sample(OpKind::MatMul, {{dtype, {3, 4}}, {dtype, {5, 4}}}, wide);
    EXPECT_EQ(graph.type(graph.nodes().back().outputs[0]).dtype,
              dtype == DType::F64 ? DType::F64 : DType::F32);
  }
}

TEST(OpTable, FlopsCountMultiplicationsAndAdditions) {
  Graph conv = build_sample(sample_node(OpKind::Conv2d));
  // y 2,3,3,8; window 3,3,4.
  EXPECT_EQ(op_info(OpKind::Conv2d).flops(conv, conv.nodes().back()), 2.0 * 144 * 36);
  Graph data = build_sample(sample_node(OpKind::Conv2dBwdData));
  EXPECT_EQ(op_info(OpKind::Conv2dBwdData).flops(data, data.nodes().back()), 2.0 * 144 * 36);
  Graph weights = build_sample(sample_node(OpKind::Conv2dBwdWeights));
  EXPECT_EQ(op_info(OpKind::Conv2dBwdWeights).flops(weights, weights.nodes().back()),
            2.0 * 144 * 36);
  Graph matmul = build_sample(sample_node(OpKind::MatMul));
  EXPECT_EQ(op_info(OpKind::MatMul).flops(matmul, matmul.nodes().back()), 2.0 * 3 * 5 * 4);
  Graph batch = build_sample(sample_node(OpKind::BatchMatMul));
  EXPECT_EQ(op_info(OpKind::BatchMatMul).flops(batch, batch.nodes().back()), 2.0 * 2 * 3 * 5 * 4);
}

// A sample with one input or attribute changed, and what the message must hold beside "layer".
struct WrongNode {
  OpKind op;
  int input;  // -1: none changed
  TensorType type = {};
  Attributes changed = {};
  std::vector<std::string> parts = {};
};

std::vector<WrongNode> wrong_shapes() {
  const TensorType u8 = {DType::U8, {3, 4}}, f64 = {DType::F64, {3, 4}};
  return {
      {OpKind::Fill, -1, {}, {{"dtype", std::string("f31")}}, {"f31"}},
      {OpKind::Fill, -1, {}, {{"shape", Ints{2, -3}}}, {"-3"}},
      {OpKind::Fill, -1, {}, {{"shape", Ints{1, 1, 1, 1, 1, 1, 1}}}, {"6"}},
      {OpKind::Cast, 0, u8, {}, {"u8[3,4]", "floating"}},
      {OpKind::Cast, -1, {}, {{"dtype", std::string("i32")}}, {"i32[3,4]", "floating"}},
      {OpKind::Cast, -1, {}, {{"dtype", std::string("half")}}, {"half"}},
      {OpKind::Select, 0, {DType::I64, {}}, {}, {"flag", "i64[]", "i64[2]"}},
      {OpKind::Select, 2, f64, {}, {"clear", "f64[3,4]", "f32[3,4]"}},
      {OpKind::Increment, 0, f32({}), {}, {"f32[]", "i64"}},
      {OpKind::Increment, 0, {DType::I64, {1}}, {}, {"i64[1]", "0 axes"}},
      {OpKind::Increment, 1, {DType::I64, {3}}, {}, {"i64[3]", "i64[2]"}},
      {OpKind::Lookup, 0, f32({5, 1}), {}, {"f32[5,1]", "1 axes"}},
      {OpKind::Lookup, 0, f32({0}), {}, {"empty"}},
      {OpKind::Lookup, 1, f32({}), {}, {"f32[]", "i64[]"}},
      {OpKind::CheckFinite, 0, u8, {}, {"u8[3,4]", "floating"}},
      {OpKind::CheckFinite, 1, {DType::I64, {}}, {}, {"i64[]", "i64[2]"}},
      {OpKind::NormalizeImage, 0, {DType::U8, {2, 6, 5, 4}}, {}, {"u8[2,6,5,4]", "4", "3"}},
      {OpKind::NormalizeImage, 0, f32({2, 6, 5, 3}), {}, {"f32[2,6,5,3]", "u8"}},
      {OpKind::NormalizeImage, 0, {DType::U8, {6, 5, 3}}, {}, {"u8[6,5,3]", "4 axes"}},
      {OpKind::NormalizeImage, -1, {}, {{"dtype", std::string("f64")}}, {"f64", "bf16"}},
      {OpKind::OneHot, 0, {DType::I32, {3, 1}}, {}, {"i32[3,1]", "1 axes"}},
      {OpKind::OneHot, 0, {DType::I64, {3}}, {}, {"i64[3]", "i32"}},
      {OpKind::OneHot, -1, {}, {{"classes", int64_t{-1}}}, {"-1"}},
      {OpKind::Add, 1, f32({4, 3}), {}, {"f32[3,4]", "f32[4,3]"}},
      {OpKind::Add, 1, f64, {}, {"f32[3,4]", "f64[3,4]"}},
      {OpKind::Mul, 0, f32({3}), {}, {"f32[3]", "f32[3,4]"}},
      {OpKind::Relu, 0, u8, {}, {"u8[3,4]", "floating"}},
      {OpKind::ReluBwd, 1, f32({3, 5}), {}, {"f32[3,4]", "f32[3,5]"}},
      {OpKind::MatMul, 1, f32({4, 5}), {}, {"f32[3,4]", "f32[4,5]", "depth"}},
      {OpKind::MatMul, 0, f32({3, 4, 1}), {}, {"f32[3,4,1]", "2 axes"}},
      {OpKind::MatMul, 1, {DType::F64, {5, 4}}, {}, {"f64[5,4]", "f32"}},
      {OpKind::BiasAdd, 1, f32({3}), {}, {"f32[3]", "f32[4]"}},
      {OpKind::BiasAdd, 0, f32({}), {}, {"scalar"}},
      {OpKind::BiasBwd, 0, f32({3}), {}, {"f32[3]", "2 axes"}},
      {OpKind::Conv2d, 0, f32({2, 6, 5, 3}), {}, {"[2,6,5,3]", "[8,3,3,4]", "3 channels"}},
      {OpKind::Conv2d, 0, f32({2, 6, 5}), {}, {"f32[2,6,5]", "4 axes"}},
      {OpKind::Conv2d, 1, f32({8, 3, 3}), {}, {"f32[8,3,3]", "4 axes"}},
      {OpKind::Conv2d, 1, {DType::F64, {8, 3, 3, 4}}, {}, {"f64[8,3,3,4]", "f32"}},
      {OpKind::Conv2d, 1, f32({8, 9, 3, 4}), {}, {"9", "6"}},
      {OpKind::Conv2d, -1, {}, {{"groups", int64_t{3}}}, {"3 groups", "[8,3,3,4]"}},
      {OpKind::Conv2d, -1, {}, {{"groups", int64_t{0}}}, {"0 groups"}},
      {OpKind::Conv2d, -1, {}, {{"stride", Ints{1}}}, {"stride", "1", "2"}},
      {OpKind::Conv2d, -1, {}, {{"stride", Ints{0, 1}}}, {"stride 0"}},
      {OpKind::Conv2d, -1, {}, {{"padding", Ints{-1, 1}}}, {"padding -1"}},
      {OpKind::Conv2d, -1, {}, {{"dilation", Ints{4, 1}}}, {"window of 9", "6"}},
      {OpKind::Conv2dBwdData, 0, f32({2, 3, 4, 8}), {}, {"f32[2,3,4,8]", "f32[2,3,3,8]"}},
      {OpKind::Conv2dBwdData, -1, {}, {{"height", int64_t{9}}}, {"f32[2,3,3,8]", "f32[2,5,3,8]"}},
      {OpKind::Conv2dBwdData, -1, {}, {{"width", int64_t{-9}}}, {"-9"}},
      {OpKind::Conv2dBwdWeights, 1, f32({3, 3, 3, 8}), {}, {"f32[3,3,3,8]", "f32[2,3,3,8]"}},
      {OpKind::Conv2dBwdWeights, -1, {}, {{"kernel", Ints{3}}}, {"kernel"}},
      {OpKind::Conv2dBwdWeights, -1, {}, {{"groups", int64_t{0}}}, {"0 groups"}},
      {OpKind::BatchNorm, 1, f32({5}), {}, {"gamma", "f32[5]", "f32[4]"}},
      {OpKind::BatchNorm, 4, f32({4, 1}), {}, {"running_var", "f32[4,1]", "f32[4]"}},
      {OpKind::BatchNorm, 0, f32({4}), {}, {"f32[4]", "2 axes"}},
      {OpKind::BatchNorm, 0, f32({1, 1, 1, 4}), {}, {"f32[1,1,1,4]", "2 values", "larger batch"}},
      {OpKind::BatchNorm, 0, f32({2, 0}), {}, {"f32[2,0]", "channel"}},
      {OpKind::BatchNormBwd, 0, f32({2, 6, 5, 5}), {}, {"f32[2,6,5,5]", "f32[2,6,5,4]"}},
      {OpKind::BatchNormBwd, 3, f32({3}), {}, {"mean", "f32[3]", "f32[4]"}},
      {OpKind::BatchNormInference, 2, f32({3}), {}, {"beta", "f32[3]", "f32[4]"}},
      {OpKind::MaxPool, 0, f32({2, 6, 5}), {}, {"f32[2,6,5]", "4 axes"}},
      {OpKind::MaxPool, -1, {}, {{"padding", Ints{2, 1}}}, {"[2,1]", "[3,3]"}},
      {OpKind::MaxPool, -1, {}, {{"kernel", Ints{9, 3}}}, {"window of 9", "6"}},
      {OpKind::MaxPool, -1, {}, {{"kernel", Ints{40, 40}}}, {"256"}},
      {OpKind::MaxPool, -1, {}, {{"kernel", Ints{3, 3, 3}}}, {"kernel", "3", "2"}},
      {OpKind::MaxPoolBwd, 0, f32({2, 4, 3, 4}), {}, {"[2,3,3,4]", "[2,4,3,4]"}},
      {OpKind::MaxPoolBwd, 1, f32({2, 3, 3, 4}), {}, {"f32[2,3,3,4]", "u8[2,3,3,4]"}},
      {OpKind::MaxPoolBwd, -1, {}, {{"height", int64_t{8}}}, {"f32[2,3,3,4]", "f32[2,4,3,4]"}},
      {OpKind::GlobalAvgPool, 0, f32({2, 4}), {}, {"f32[2,4]", "4 axes"}},
      {OpKind::GlobalAvgPool, 0, f32({2, 0, 5, 4}), {}, {"[2,0,5,4]", "pixels"}},
      {OpKind::GlobalAvgPoolBwd, 0, f32({2, 1, 1, 4}), {}, {"f32[2,1,1,4]", "2 axes"}},
      {OpKind::GlobalAvgPoolBwd, -1, {}, {{"height", int64_t{-6}}}, {"-6"}},
      {OpKind::CrossEntropy, 0, f32({4, 3}), {}, {"f32[3,4]", "f32[4,3]"}},
      {OpKind::CrossEntropy, 1, {DType::I32, {3}}, {}, {"i32[3]", "f32[3,4]"}},
      {OpKind::CrossEntropy, 2, f32({4}), {}, {"sample_weights", "f32[4]", "f32[3]"}},
      {OpKind::CrossEntropyBwd, 0, f32({}), {}, {"grad_loss", "f32[]", "f32[3]"}},
      {OpKind::CrossEntropyBwd, 2, f32({3, 5}), {}, {"targets", "f32[3,5]", "f32[3,4]"}},
      {OpKind::TargetRank, 1, {DType::I32, {4}}, {}, {"labels", "i32[4]", "i32[3]"}},
      {OpKind::TargetRank, 1, {DType::I64, {3}}, {}, {"labels", "i64[3]", "i32[3]"}},
      {OpKind::Sgd, 1, f32({4, 3}), {}, {"gradient", "f32[4,3]", "f32[3,4]"}},
      {OpKind::Sgd, 2, f64, {}, {"state", "f64[3,4]", "f32[3,4]"}},
      {OpKind::Sgd, 3, f32({1}), {}, {"learning_rate", "f32[1]", "f32[]"}},
      {OpKind::Sgd, 5, {DType::I32, {2}}, {}, {"stop", "i32[2]", "i64[2]"}},
      {OpKind::Adam, 0, u8, {}, {"parameter", "u8[3,4]", "floating"}},
      {OpKind::Adam, 3, f32({12}), {}, {"state", "f32[12]", "f32[3,4]"}},
      {OpKind::Adam, 5, f32({}), {}, {"updates", "f32[]", "i64[]"}},
      {OpKind::Adam, 6, {DType::I64, {}}, {}, {"divisor", "i64[]", "f32[]"}},
      {OpKind::SumSquares, 1, f32({1}), {}, {"sum", "f32[1]", "f32[]"}},
      {OpKind::ClipDivisor, 1, f32({2}), {}, {"sum_squares", "f32[2]", "f32[]"}},
      {OpKind::ClipDivisor, -1, {}, {{"max_norm", 0.0}}, {"max_norm", "0"}},
      {OpKind::LossScale, 0, f64, {}, {"scale", "f64[3,4]", "f32[]"}},
      {OpKind::LossScale, 1, {DType::I64, {2}}, {}, {"counts", "i64[2]", "i64[3]"}},
      {OpKind::LossScale, -1, {}, {{"growth_interval", int64_t{0}}}, {"growth_interval", "0"}},
      {OpKind::MovingAverage, 1, f32({4, 3}), {}, {"x", "f32[4,3]", "f32[3,4]"}},
  };
}

std::vector<WrongNode> wrong_shapes_of_layout() {
  const Ints far = {0, 3};
  const TensorType f64 = {DType::F64, {3, 4}};
  return {
      {OpKind::BatchMatMul, 0, f32({3, 4}), {}, {"f32[3,4]", "f32[2,5,4]", "3 axes"}},
      {OpKind::BatchMatMul, 1, f32({3, 5, 4}), {}, {"f32[2,3,4]", "f32[3,5,4]"}},
      {OpKind::BatchMatMul, 1, f32({2, 5, 3}), {}, {"f32[2,3,4]", "f32[2,5,3]", "depth"}},
      {OpKind::Reshape, -1, {}, {{"shape", Ints{5}}}, {"f32[3,4]", "12", "[5]"}},
      {OpKind::Transpose, -1, {}, {{"permutation", Ints{0, 0}}}, {"[0,0]", "f32[3,4]", "2 axes"}},
      {OpKind::Transpose, -1, {}, {{"permutation", Ints{0}}}, {"[0]", "f32[3,4]"}},
      {OpKind::Slice, -1, {}, {{"size", int64_t{4}}}, {"f32[3,4]", "4 from 1", "axis 1"}},
      {OpKind::Slice, -1, {}, {{"start", int64_t{-1}}}, {"f32[3,4]", "from -1"}},
      {OpKind::Slice, -1, {}, {{"axis", int64_t{2}}}, {"axis 2", "[3,4]"}},
      {OpKind::Pad, -1, {}, {{"before", int64_t{-1}}}, {"f32[3,4]", "-1"}},
      {OpKind::Concat, 1, f32({4, 4}), {}, {"f32[4,4]", "f32[3,4]", "axis 1"}},
      {OpKind::Concat, 1, f32({3}), {}, {"f32[3]", "f32[3,4]"}},
      {OpKind::Concat, 2, f64, {}, {"f64[3,4]", "f32[3,4]"}},
      {OpKind::Concat, -1, {}, {{"axis", int64_t{-1}}}, {"axis -1", "[3,4]"}},
      {OpKind::Broadcast, -1, {}, {{"shape", Ints{4, 3}}}, {"f32[3,1]", "[4,3]"}},
      {OpKind::ReduceSum, -1, {}, {{"axes", far}}, {"[0,3]", "f32[2,3,4]"}},
      {OpKind::ReduceSum, -1, {}, {{"axes", Ints{1, 1}}}, {"[1,1]", "in order"}},
      {OpKind::ReduceMean, 0, f32({2, 3, 0}), {}, {"f32[2,3,0]", "nothing"}},
      {OpKind::ReduceMax, -1, {}, {{"axes", far}}, {"[0,3]", "f32[2,3,4]"}},
      {OpKind::ReduceMaxBwd, 0, f32({4}), {}, {"grad_y", "f32[4]", "f32[3]"}},
      {OpKind::ReduceMaxBwd, 2, f32({4}), {}, {"y", "f32[4]", "f32[3]"}},
      {OpKind::LargestMagnitude, 0, {DType::I64, {2}}, {}, {"i64[2]", "floating"}},
      {OpKind::Softmax, 0, f32({}), {}, {"f32[]", "last axis"}},
      {OpKind::SoftmaxBwd, 0, f32({4, 3}), {}, {"f32[4,3]", "f32[3,4]"}},
      {OpKind::LogSoftmax, 0, f32({3, 0}), {}, {"f32[3,0]", "last axis"}},
      {OpKind::LogSoftmaxBwd, 1, f32({4, 3}), {}, {"f32[4,3]", "f32[3,4]"}},
      {OpKind::LayerNorm, 0, f32({}), {}, {"f32[]", "last axis"}},
      {OpKind::LayerNorm, 1, f32({3}), {}, {"gamma", "f32[3]", "f32[4]"}},
      {OpKind::LayerNormBwd, 0, f32({3, 3}), {}, {"grad_y", "f32[3,3]", "f32[3,4]"}},
      {OpKind::LayerNormBwd, 3, f32({4}), {}, {"mean", "f32[4]", "f32[3]"}},
      {OpKind::AvgPool, 0, f32({2, 6, 5}), {}, {"f32[2,6,5]", "4 axes"}},
      {OpKind::AvgPool, -1, {}, {{"kernel", Ints{9, 3}}}, {"window of 9", "6"}},
      {OpKind::AvgPoolBwd, -1, {}, {{"height", int64_t{8}}}, {"f32[2,3,3,4]", "f32[2,4,3,4]"}},
  };
}

std::vector<WrongNode> wrong_programs() {
  auto program = [](const char* text) { return Attributes{{"program", std::string(text)}}; };
  return {
      {OpKind::Fused, -1, {}, program(""), {"an elementwise op", "column 1"}},
      {OpKind::Fused, -1, {}, program("add(0,1);"), {"an elementwise op", "column 10"}},
      {OpKind::Fused, -1, {}, program("add(0,1) relu(2)"), {"expected ;", "column 10"}},
      {OpKind::Fused, -1, {}, program("matmul(0,1)"), {"an elementwise op", "column 1"}},
      {OpKind::Fused, -1, {}, program("add(0)"), {"expected ,", "column 6"}},
      {OpKind::Fused, -1, {}, program("add(0,2)"), {"number below 2", "column 7"}},
      {OpKind::Fused, -1, {}, program("add(0,-1)"), {"number below 2", "column 7"}},
      {OpKind::Fused, -1, {}, program("add(0,1); relu(3)"), {"number below 3", "column 16"}},
      {OpKind::Fused, -1, {}, program("relu(0)"), {"nothing uses number 1"}},
      {OpKind::Fused, -1, {}, program("add(0,1); relu(0)"), {"nothing uses number 2"}},
      {OpKind::Fused,
       -1,
       {},
       program("add(0,1); neg(2); neg(3); neg(4); neg(5); neg(6); neg(7); neg(8); neg(9); "
               "neg(10); neg(11); neg(12); neg(13); neg(14); neg(15); neg(16); neg(17)"),
       {"more than 16 steps"}},
      {OpKind::Fused, 1, f32({2, 4}), {}, {"step 1 (add)", "[3,4]", "[2,4]"}},
      {OpKind::Fused, 0, {DType::U8, {3, 4}}, {}, {"u8[3,4]", "floating"}},
      {OpKind::Conv2dFused, 1, f32({8, 3, 3, 5}), {}, {"4 channels", "expect 5"}},
      {OpKind::Conv2dFused, 2, f32({7}), {}, {"step 1 (add)", "f32[7]"}},
      {OpKind::MatMulFused, 2, f32({2, 3, 5}), {}, {"makes f32[2,3,5] of f32[3,5]"}},
      {OpKind::BatchNormFused, 1, f32({3}), {}, {"gamma", "f32[3]"}},
      {OpKind::BatchNormFused, 5, f32({2, 6, 5, 3}), {}, {"step 1 (add)", "f32[2,6,5,3]"}},
      {OpKind::BatchNormInferenceFused, -1, {}, program("relu(2)"), {"number below 2"}},
  };
}

std::vector<WrongNode> all_wrong_shapes() {
  std::vector<WrongNode> all = wrong_shapes();
  for (WrongNode& wrong : wrong_programs()) all.push_back(std::move(wrong));
  for (WrongNode& wrong : wrong_shapes_of_layout()) all.push_back(std::move(wrong));
  for (const OpInfo& info : op_table()) {
    if (info.formula.empty() || info.kind < OpKind::Sub) continue;
    if (info.inputs.size() == 1) {
      all.push_back({info.kind, 0, {DType::U8, {3, 4}}, {}, {"u8[3,4]", "floating"}});
    } else if (is_broadcast_arithmetic(info.kind)) {
      all.push_back({info.kind, 1, f32({2, 4}), {}, {"[3,4]", "[2,4]", "broadcast"}});
    } else {
      all.push_back({info.kind, 1, f32({1, 4}), {}, {"f32[3,4]", "f32[1,4]"}});
    }
  }
  return all;
}

TEST(ShapeRules, WrongShapesNameLayerAndShapes) {
  std::set<OpKind> covered;
  for (const WrongNode& wrong : all_wrong_shapes()) {
    SCOPED_TRACE(op_info(wrong.op).name);
    SampleNode sample = sample_node(wrong.op);
    if (wrong.input >= 0) sample.inputs.at(size_t(wrong.input)) = wrong.type;
    for (const auto& [name, value] : wrong.changed.entries()) sample.attributes.set(name, value);
    std::vector<std::string> parts = wrong.parts;
    parts.push_back(fmt::format("layer ({}): ", op_info(wrong.op).name));
    EXPECT_TRUE(throws_error([&] { build_sample(sample); }, ErrorKind::InvalidArgument, parts));
    covered.insert(wrong.op);
  }
  // Copy and all_reduce take anything.
  EXPECT_EQ(covered.size(), op_table().size() - 4);
}

TEST(ShapeRules, AnotherNumberOfInputsIsRejected) {
  for (const SampleNode& sample : sample_nodes()) {
    std::vector<TensorType> other = sample.inputs;
    if (op_info(sample.op).variadic) {
      other.clear();
    } else {
      other.push_back(f32({3, 4}));
    }
    const OpInfo& info = op_info(sample.op);
    EXPECT_ERROR(build_sample(sample.op, other, sample.attributes), ErrorKind::InvalidArgument,
                 "layer",
                 fmt::format("{} inputs given, {} expected", other.size(),
                             info.inputs.size() - (info.optional ? 1 : 0)));
  }
}

TEST(ShapeRules, VariadicInputsAreNumbered) {
  const OpInfo& concat = op_info(OpKind::Concat);
  EXPECT_FALSE(accepts_inputs(concat, 0));
  EXPECT_TRUE(accepts_inputs(concat, 1));
  EXPECT_TRUE(accepts_inputs(concat, 99));
  EXPECT_EQ(input_name(concat, 7), "x7");
  EXPECT_EQ(input_name(op_info(OpKind::MatMul), 1), "b");
  EXPECT_FALSE(accepts_inputs(op_info(OpKind::MatMul), 3));
}

TEST(ShapeRules, FusedFormsTakeAnyNumberOfOperandsUpToEight) {
  const OpInfo& form = op_info(OpKind::BatchNormFused);
  EXPECT_FALSE(accepts_inputs(form, 4));
  EXPECT_TRUE(accepts_inputs(form, 5));
  EXPECT_TRUE(accepts_inputs(form, 9));
  EXPECT_EQ(input_name(form, 5), "operand0");
  EXPECT_EQ(input_name(form, 4), "running_var");
  std::vector<TensorType> nine(9, f32({2}));
  EXPECT_ERROR(build_sample(OpKind::Fused, nine, {{"program", std::string("add(0,1)")}}),
               ErrorKind::InvalidArgument, "9 operands, at most 8");
}

TEST(ShapeRules, FusedFormsCountTheFlopsOfThePlainOp) {
  Graph conv = build_sample(sample_node(OpKind::Conv2d));
  Graph fused = build_sample(sample_node(OpKind::Conv2dFused));
  EXPECT_EQ(op_info(OpKind::Conv2dFused).flops(fused, fused.nodes().back()),
            op_info(OpKind::Conv2d).flops(conv, conv.nodes().back()));
}

TEST(Programs, PrintAsTheyAreRead) {
  const ElementwiseProgram expected = {
      3, {{OpKind::Add, 0, 1}, {OpKind::Relu, 3, 3}, {OpKind::ReluBwd, 2, 4}}};
  EXPECT_EQ(parse_program("  add( 0 ,1) ;relu(3); relu_bwd(2,4)", 3), expected);
  EXPECT_EQ(to_string(expected), "add(0,1); relu(3); relu_bwd(2,4)");
  EXPECT_EQ(parse_program(to_string(expected), 3), expected);
}

TEST(Programs, StandForThePlainNodeAndItsOperands) {
  Graph graph = build_sample(sample_node(OpKind::BatchNormFused));
  const Node& node = graph.nodes().back();
  Node plain = plain_node(node);
  EXPECT_EQ(plain.op, OpKind::BatchNorm);
  EXPECT_EQ(plain.inputs.size(), 5u);
  EXPECT_EQ(plain.outputs, node.outputs);
  EXPECT_EQ(plain.attributes.find("program"), nullptr);
  EXPECT_EQ(plain.attributes.number("momentum"), 0.1);
  EXPECT_EQ(program_operands(node), (std::vector<Value>{node.outputs[0], node.inputs[5]}));
}

TEST(ShapeRules, ArithmeticBroadcasts) {
  struct Row {
    Shape a, b, y;
  };
  for (const Row& row :
       {Row{{3, 4}, {4}, {3, 4}}, Row{{}, {2, 3}, {2, 3}}, Row{{2, 1, 4}, {3, 1}, {2, 3, 4}},
        Row{{1, 1, 1, 1, 1, 5}, {6, 1}, {1, 1, 1, 1, 6, 5}}, Row{{0, 3}, {1, 3}, {0, 3}},
        Row{{0}, {1}, {0}}}) {
    Graph graph = build_sample(OpKind::Sub, {f32(row.a), f32(row.b)}, {});
    EXPECT_EQ(graph.shape(graph.nodes().back().outputs[0]), row.y);
    graph = build_sample(OpKind::Sub, {f32(row.b), f32(row.a)}, {});
    EXPECT_EQ(graph.shape(graph.nodes().back().outputs[0]), row.y);
  }
}

TEST(ShapeRules, AttributesAreChecked) {
  for (const SampleNode& sample : sample_nodes()) {
    const OpInfo& info = op_info(sample.op);
    Attributes unknown = sample.attributes;
    unknown.set("colour", int64_t{1});
    EXPECT_ERROR(build_sample(sample.op, sample.inputs, unknown), ErrorKind::InvalidArgument,
                 "layer", "unknown attribute colour");
    for (const AttributeInfo& row : info.attributes) {
      Attributes wrong = sample.attributes, missing;
      wrong.set(std::string(row.name),
                row.type == AttributeType::Int ? AttributeValue(0.5) : AttributeValue(int64_t{1}));
      EXPECT_ERROR(build_sample(sample.op, sample.inputs, wrong), ErrorKind::InvalidArgument,
                   "layer", fmt::format("attribute {} must be", row.name));
      for (const auto& [name, value] : sample.attributes.entries()) {
        if (name != row.name) missing.set(name, value);
      }
      if (!row.default_value) {
        EXPECT_ERROR(build_sample(sample.op, sample.inputs, missing), ErrorKind::InvalidArgument,
                     "layer", fmt::format("attribute {} is missing", row.name));
      }
    }
  }
}

}  // namespace
}  // namespace pounce
