// Mixed precision as a graph rewrite: which nodes become half, where casts stand, and that nothing
// but precision changes.
#include "passes/autocast.h"

#include <gtest/gtest.h>

#include "backend/registry.h"
#include "expect_error.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "passes/copier.h"
#include "run_session.h"

namespace pounce {
namespace {

constexpr uint64_t kGraphs = 300;
constexpr DType kHalves[] = {DType::F16, DType::BF16};

// The graph without its casts, in f32 throughout.
Graph without_casts(const Graph& graph) {
  GraphCopier copier(graph);
  for (const Node& node : graph.nodes()) {
    if (node.op == OpKind::Cast) {
      copier.map(node.outputs[0], copier.mapped(node.inputs[0]));
      continue;
    }
    Node plain = node;
    bool is_source = op_info(node.op).autocast == Autocast::Source;
    if (is_source && is_half(graph.type(node.outputs[0]).dtype)) {
      plain.attributes.set("dtype", std::string("f32"));
    }
    if (node.op == OpKind::MatMul) plain.attributes.set("wide_output", int64_t{0});
    copier.copy(plain);
  }
  return copier.finish();
}

// What the op table's classes say of every node.
void expect_classes_hold(const Graph& graph) {
  for (const Node& node : graph.nodes()) {
    const OpInfo& info = op_info(node.op);
    if (info.infer == nullptr || node.op == OpKind::Cast || node.inputs.empty()) continue;
    bool any_half = false;
    for (Value value : node.inputs) any_half |= is_half(graph.type(value).dtype);
    if (info.autocast == Autocast::Keep) {
      EXPECT_FALSE(any_half) << info.name;
    }
  }
}

TEST(Autocast, RandomGraphsChangeInNothingButPrecision) {
  int halves = 0;
  for (uint64_t seed = 0; seed < kGraphs; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    RandomGraph random(seed);
    std::string before = print_graph(random.graph());
    EXPECT_EQ(print_graph(autocast(random.graph(), DType::F32)), before);
    for (DType dtype : kHalves) {
      Graph graph = autocast(random.graph(), dtype);
      ASSERT_NO_THROW(verify_graph(graph));
      EXPECT_EQ(print_graph(without_casts(graph)), before);
      expect_classes_hold(graph);
      std::string text = print_graph(graph);
      EXPECT_EQ(print_graph(parse_graph(text)), text);
      EXPECT_EQ(print_graph(autocast(random.graph(), dtype)), text) << "a pure function";
      for (const Node& node : graph.nodes()) {
        halves += node.op != OpKind::Cast && is_half(graph.type(node.outputs[0]).dtype);
      }
    }
  }
  EXPECT_GT(halves, 1000) << "the graphs should hold products";
}

// Planned, with memory reused and poisoned, against each value in its own place.
TEST(Autocast, RandomGraphsRunTheSamePlannedAndUnplanned) {
  std::unique_ptr<Backend> backend = make_backend("reference");
  SessionOptions planned, apart;
  planned.passes.precision = apart.passes.precision = DType::BF16;
  apart.plan.reuse = false;
  for (uint64_t seed = 0; seed < kGraphs; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    RandomGraph random(seed);
    ASSERT_EQ(run_session(*backend, random.graph(), seed, planned),
              run_session(*backend, random.graph(), seed, apart));
  }
}

TEST(Autocast, IsTimedAndReported) {
  RandomGraph random(1);
  std::vector<PassReport> reports;
  run_passes(random.graph(), {.disabled = {}, .precision = DType::F16}, &reports);
  ASSERT_EQ(reports.size(), pass_list().size() + 1);
  EXPECT_EQ(reports[0].name, "autocast");
  EXPECT_EQ(reports[0].nodes_before, random.graph().nodes().size());
  EXPECT_ERROR(autocast(random.graph(), DType::U8), ErrorKind::InvalidArgument, "u8", "bf16");
}

// A convolution, its normalisation and the last layer, with the gradients of both weights.
TEST(Autocast, StoresActivationsInHalfAndKeepsTheLastLayer) {
  Graph graph = parse_graph(
      "%0:u8[2,4,4,3] = input() \"images\"\n"
      "%1:f32[2,4,4,3] = normalize_image(%0) {dtype=\"f32\", mean=[0.5,0.5,0.5], "
      "std=[0.2,0.2,0.2]}\n"
      "%2:f32[5,3,3,3] = variable() {role=\"parameter\"} \"conv.weight\"\n"
      "%3:f32[2,2,2,5] = conv2d(%1, %2) {dilation=[1,1], groups=1, padding=[0,0], stride=[1,1]} "
      "\"conv\"\n"
      "%4:f32[2,2,2,5] = relu(%3)\n"
      "%5:f32[2,5] = global_avg_pool(%4)\n"
      "%6:f32[7,5] = variable() {role=\"parameter\"} \"fc.weight\"\n"
      "%7:f32[2,7] = matmul(%5, %6) {transpose_a=0, transpose_b=1, wide_output=0} \"fc\"\n"
      "%8:f32[2,5] = matmul(%7, %6) {transpose_a=0, transpose_b=0, wide_output=0} \"fc\"\n"
      "%9:f32[7,5] = matmul(%7, %5) {transpose_a=1, transpose_b=0, wide_output=0} \"fc\"\n"
      "%10:f32[2,2,2,5] = global_avg_pool_bwd(%8) {height=2, width=2}\n"
      "%11:f32[2,2,2,5] = relu_bwd(%10, %4)\n"
      "%12:f32[5,3,3,3] = conv2d_bwd_weights(%1, %11) {dilation=[1,1], groups=1, kernel=[3,3], "
      "padding=[0,0], stride=[1,1]} \"conv\"\n"
      "store %2 <- %12\n"
      "store %6 <- %9\n"
      "output %7 \"logits\"\n");
  EXPECT_EQ(
      print_graph(autocast(graph, DType::BF16)),
      "%0:u8[2,4,4,3] = input() \"images\"\n"
      "%1:bf16[2,4,4,3] = normalize_image(%0) {dtype=\"bf16\", mean=[0.5,0.5,0.5], "
      "std=[0.2,0.2,0.2]}\n"
      "%2:f32[5,3,3,3] = variable() {role=\"parameter\"} \"conv.weight\"\n"
      "%3:bf16[5,3,3,3] = cast(%2) {dtype=\"bf16\"} \"conv\"\n"
      "%4:bf16[2,2,2,5] = conv2d(%1, %3) {dilation=[1,1], groups=1, padding=[0,0], stride=[1,1]} "
      "\"conv\"\n"
      "%5:bf16[2,2,2,5] = relu(%4)\n"
      "%6:bf16[2,5] = global_avg_pool(%5)\n"
      "%7:f32[7,5] = variable() {role=\"parameter\"} \"fc.weight\"\n"
      "%8:f32[2,5] = cast(%6) {dtype=\"f32\"} \"fc\"\n"
      "%9:f32[2,7] = matmul(%8, %7) {transpose_a=0, transpose_b=1, wide_output=0} \"fc\"\n"
      "%10:f32[2,5] = matmul(%9, %7) {transpose_a=0, transpose_b=0, wide_output=0} \"fc\"\n"
      "%11:f32[2,5] = cast(%6) {dtype=\"f32\"} \"fc\"\n"
      "%12:f32[7,5] = matmul(%9, %11) {transpose_a=1, transpose_b=0, wide_output=0} \"fc\"\n"
      "%13:bf16[2,5] = cast(%10) {dtype=\"bf16\"}\n"
      "%14:bf16[2,2,2,5] = global_avg_pool_bwd(%13) {height=2, width=2}\n"
      "%15:bf16[2,2,2,5] = relu_bwd(%14, %5)\n"
      "%16:f32[5,3,3,3] = conv2d_bwd_weights(%1, %15) {dilation=[1,1], groups=1, kernel=[3,3], "
      "padding=[0,0], stride=[1,1]} \"conv\"\n"
      "store %2 <- %16\n"
      "store %7 <- %12\n"
      "output %9 \"logits\"\n");
}

// Attention: products in half, softmax in f32, the gradient of a weight wide from its product on.
TEST(Autocast, SoftmaxStaysWideAndWeightGradientsComeOutWide) {
  Graph graph;
  const int64_t yes = 1;
  Value x = graph.add_input("x", {DType::F32, {2, 4, 8}});
  Value w = graph.add_variable("w", {DType::F32, {8, 8}}, VariableRole::Parameter);
  Value sum = graph.add_variable("sum", {DType::F32, {8, 8}}, VariableRole::Gradient);
  Value rows = graph.add_one(OpKind::Reshape, {x}, {{"shape", std::vector<int64_t>{8, 8}}});
  Value q = graph.add_one(OpKind::MatMul, {rows, w}, {{"transpose_b", yes}}, "q");
  q = graph.add_one(OpKind::Reshape, {q}, {{"shape", std::vector<int64_t>{2, 4, 8}}});
  Value scores = graph.add_one(OpKind::BatchMatMul, {q, q}, {{"transpose_b", yes}});
  Value weights = graph.add_one(OpKind::Softmax, {scores});
  Value mixed = graph.add_one(OpKind::BatchMatMul, {weights, q});
  Value flat = graph.add_one(OpKind::Reshape, {mixed}, {{"shape", std::vector<int64_t>{8, 8}}});
  Value grad = graph.add_one(OpKind::MatMul, {flat, rows}, {{"transpose_a", yes}}, "q");
  graph.store(sum, graph.add_one(OpKind::Add, {sum, grad}));
  graph.add_output("y", graph.add_one(OpKind::MatMul, {flat, w}, {}, "head"));

  Graph half = autocast(graph, DType::F16);
  auto type_of = [&](OpKind op, size_t nth) {
    for (const Node& node : half.nodes()) {
      if (node.op == op && nth-- == 0) return half.type(node.outputs[0]).dtype;
    }
    return DType::U8;
  };
  EXPECT_EQ(type_of(OpKind::MatMul, 0), DType::F16);
  EXPECT_EQ(type_of(OpKind::BatchMatMul, 0), DType::F16);
  EXPECT_EQ(type_of(OpKind::Softmax, 0), DType::F32);
  EXPECT_EQ(type_of(OpKind::BatchMatMul, 1), DType::F16);
  EXPECT_EQ(type_of(OpKind::MatMul, 1), DType::F32);  // the gradient, of half operands
  EXPECT_EQ(type_of(OpKind::Add, 0), DType::F32);     // a running sum
  EXPECT_EQ(type_of(OpKind::MatMul, 2), DType::F32);  // the last layer
  for (const Node& node : half.nodes()) {
    if (node.op != OpKind::MatMul || node.name != "q") continue;
    EXPECT_EQ(half.type(node.inputs[0]).dtype, DType::F16);
  }
}

}  // namespace
}  // namespace pounce
