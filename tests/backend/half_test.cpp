// Half precision on the host backends: the reference rounds what its f32 kernels compute, the cpu
// refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/op_cases.h"
#include "backend/registry.h"
#include "backend/run_graph.h"
#include "base/error.h"
#include "ir/fused.h"

namespace pounce {
namespace {

constexpr DType kHalves[] = {DType::F16, DType::BF16};

Tensors widened(const Tensors& tensors) {
  Tensors wide;
  for (const auto& [name, tensor] : tensors) {
    TensorType type = tensor.type;
    if (is_half(type.dtype)) type.dtype = DType::F32;
    wide[name] = make_tensor(type, numbers_of(tensor));
  }
  return wide;
}

// The same numbers in the types of `like`.
Tensors narrowed(const Tensors& tensors, const Tensors& like) {
  Tensors narrow;
  for (const auto& [name, tensor] : tensors) {
    narrow[name] = make_tensor(like.at(name).type, numbers_of(tensor));
  }
  return narrow;
}

// Bit by bit: widen, compute in f32, round.
TEST(ReferenceHalf, RoundsWhatF32Computes) {
  std::unique_ptr<Backend> backend = make_backend("reference");
  int compared = 0;
  for (const OpCase& op_case : op_cases()) {
    // Programs round after every step: fused_test.cpp.
    if (!has_half_form(op_case) || has_program(op_case.op)) continue;
    for (DType half : kHalves) {
      SCOPED_TRACE(op_case.name + " " + std::string(dtype_name(half)));
      Tensors inputs = case_inputs(op_case, half);
      Tensors expected =
          run_graph(*backend, build_case(op_case, DType::F32), widened(inputs)).outputs;
      Tensors found = run_graph(*backend, build_case(op_case, half), inputs).outputs;
      EXPECT_EQ(found, narrowed(expected, found));
      ++compared;
    }
  }
  EXPECT_GT(compared, 400);
}

TEST(ReferenceHalf, RunsInPlaceAsItDoesApart) {
  std::unique_ptr<Backend> backend = make_backend("reference");
  for (const OpCase& op_case : op_cases()) {
    if (!has_half_form(op_case)) continue;
    SCOPED_TRACE(op_case.name);
    Graph graph = build_case(op_case, DType::F16, true);
    Tensors inputs = case_inputs(op_case, DType::F16);
    RunResult planned = run_graph(*backend, graph, inputs);
    RunResult apart = run_graph(*backend, graph, inputs, {}, {.reuse = false, .poison = false});
    EXPECT_EQ(planned.outputs, apart.outputs);
  }
}

// Against the conversions of base/half.h, which run_graph's tensors go through.
TEST(ReferenceHalf, CastsAsTheConversions) {
  std::unique_ptr<Backend> backend = make_backend("reference");
  for (const OpCase& op_case : narrowing_cases()) {
    if (op_case.op != OpKind::Cast) continue;
    SCOPED_TRACE(op_case.name);
    Tensors inputs = case_inputs(op_case, DType::F32);
    HostTensor y = run_graph(*backend, build_case(op_case, DType::F32), inputs).outputs.at("y");
    EXPECT_EQ(y, make_tensor(y.type, numbers_of(inputs.at("x"))));
  }
}

// The same node in f32 and then rounded, for what makes a half of other types.
TEST(ReferenceHalf, NarrowsWhatF32Computes) {
  std::unique_ptr<Backend> backend = make_backend("reference");
  for (const OpCase& op_case : narrowing_cases()) {
    if (op_case.op != OpKind::NormalizeImage && op_case.op != OpKind::Fill) continue;
    SCOPED_TRACE(op_case.name);
    OpCase wide = op_case;
    wide.attributes.set("dtype", std::string("f32"));
    Tensors inputs = case_inputs(op_case, DType::F32);
    Tensors expected = run_graph(*backend, build_case(wide, DType::F32), inputs).outputs;
    Tensors found = run_graph(*backend, build_case(op_case, DType::F32), inputs).outputs;
    EXPECT_TRUE(is_half(found.at("y").type.dtype));
    EXPECT_EQ(found, narrowed(expected, found));
  }
}

// A sum of 4096 halves beyond their largest number: rounded to f32 only.
TEST(ReferenceHalf, SumsComeOutWide) {
  Graph graph;
  Value x = graph.add_input("x", {DType::F16, {4096, 1}});
  Value one = graph.add_input("one", {DType::F16, {4096, 1}});
  graph.add_output("sum",
                   graph.add_one(OpKind::ReduceSum, {x}, {{"axes", std::vector<int64_t>{0, 1}}}));
  graph.add_output("bias", graph.add_one(OpKind::BiasBwd, {x}));
  graph.add_output("product",
                   graph.add_one(OpKind::MatMul, {x, one},
                                 {{"transpose_a", int64_t{1}}, {"wide_output", int64_t{1}}}));
  graph.add_output("narrow",
                   graph.add_one(OpKind::MatMul, {x, one}, {{"transpose_a", int64_t{1}}}));
  std::vector<double> numbers(4096, 1025), ones(4096, 1);
  Tensors inputs = {{"x", make_tensor({DType::F16, {4096, 1}}, numbers)},
                    {"one", make_tensor({DType::F16, {4096, 1}}, ones)}};
  std::unique_ptr<Backend> backend = make_backend("reference");
  Tensors outputs = run_graph(*backend, graph, inputs).outputs;
  for (const char* name : {"sum", "bias", "product"}) {
    EXPECT_EQ(numbers_of(outputs.at(name)).at(0), 4096.0 * 1025) << name;
  }
  EXPECT_EQ(numbers_of(outputs.at("narrow")).at(0), std::numeric_limits<double>::infinity());
}

TEST(CpuHalf, IsRefusedWithTheReason) {
  std::unique_ptr<Backend> backend = make_backend("cpu", {.threads = 1});
  for (const OpCase& op_case : op_cases()) {
    if (!has_half_form(op_case) || op_case.op == OpKind::Copy) continue;
    bool moves_bytes = op_case.op >= OpKind::Reshape && op_case.op <= OpKind::Broadcast;
    if (moves_bytes) continue;
    for (DType half : kHalves) {
      Graph graph = build_case(op_case, half);
      std::string reason =
          backend->supports(graph, graph.nodes().back(), backend->target()).value_or("");
      EXPECT_THAT(reason, testing::HasSubstr(dtype_name(half))) << op_case.name;
    }
  }
}

TEST(CpuHalf, MakesNoHalf) {
  std::unique_ptr<Backend> backend = make_backend("cpu", {.threads = 1});
  for (const OpCase& op_case : narrowing_cases()) {
    Graph graph = build_case(op_case, DType::F32);
    EXPECT_TRUE(backend->supports(graph, graph.nodes().back(), backend->target())) << op_case.name;
  }
}

}  // namespace
}  // namespace pounce
