// A node with a program leaves the bits of the separate nodes it stands for, in every backend.
#include "ir/fused.h"

#include <gtest/gtest.h>

#include "backend/op_cases.h"
#include "backend/registry.h"
#include "backend/run_graph.h"

namespace pounce {
namespace {

// The program as nodes; `operands` are values of `graph`.
Value add_steps(Graph& graph, const ElementwiseProgram& program, std::vector<Value> operands) {
  for (const ProgramStep& step : program.steps) {
    std::vector<Value> inputs = {operands[size_t(step.a)]};
    if (op_info(step.op).inputs.size() == 2) inputs.push_back(operands[size_t(step.b)]);
    operands.push_back(graph.add_one(step.op, inputs));
  }
  return operands.back();
}

// The graph of build_case with plain nodes.
Graph build_apart(const OpCase& op_case, DType dtype) {
  Graph fused = build_case(op_case, dtype);
  const Node& node = fused.nodes().back();
  ElementwiseProgram program = program_of(node);
  Graph graph;
  std::vector<Value> inputs;
  for (Value value : node.inputs) {
    const Node& leaf = fused.nodes()[size_t(fused.producer(value))];
    inputs.push_back(graph.add_input(leaf.name, fused.type(value)));
  }
  std::vector<Value> outputs;
  if (node.op == OpKind::Fused) {
    outputs = {add_steps(graph, program, inputs)};
  } else {
    Node plain = plain_node(node);
    std::vector<Value> own(inputs.begin(), inputs.begin() + ptrdiff_t(plain.inputs.size()));
    std::vector<Value> operands(inputs.begin() + ptrdiff_t(own.size()), inputs.end());
    outputs = graph.add(plain.op, own, plain.attributes);
    operands.insert(operands.begin(), outputs[0]);
    outputs[0] = add_steps(graph, program, operands);
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    graph.add_output(std::string(op_info(node.op).outputs[i]), outputs[i]);
  }
  return graph;
}

int compare_with_separate_nodes(const char* name, DType dtype) {
  std::unique_ptr<Backend> backend = make_backend(name, {.threads = 2});
  int cases = 0;
  for (const OpCase& op_case : op_cases()) {
    if (!has_program(op_case.op)) continue;
    Tensors inputs = case_inputs(op_case, dtype);
    Tensors expected = run_graph(*backend, build_apart(op_case, dtype), inputs).outputs;
    for (bool in_place : {false, true}) {
      Graph graph = build_case(op_case, dtype, in_place);
      EXPECT_EQ(run_graph(*backend, graph, inputs).outputs, expected)
          << op_case.name << (in_place ? " in place" : "");
    }
    ++cases;
  }
  return cases;
}

TEST(Fused, LeavesTheBitsOfSeparateNodes) {
  EXPECT_GT(compare_with_separate_nodes("cpu", DType::F32), 50);
  for (DType dtype : {DType::F64, DType::F32, DType::F16, DType::BF16}) {
    SCOPED_TRACE(dtype_name(dtype));
    EXPECT_GT(compare_with_separate_nodes("reference", dtype), 50);
  }
}

TEST(Fused, CpuHasItsOwnKernels) {
  std::unique_ptr<Backend> backend = make_backend("cpu", {.threads = 2});
  for (const OpCase& op_case : op_cases()) {
    if (!has_program(op_case.op)) continue;
    Graph graph = build_case(op_case, DType::F32);
    LoweredGraph lowered = backend->lower(graph, backend->target());
    EXPECT_NE(lowered.nodes.back().implementation, "reference") << op_case.name;
  }
}

TEST(Fused, CpuRunsWideNormalisationsApartAndSaysWhy) {
  std::unique_ptr<Backend> backend = make_backend("cpu", {.threads = 2});
  int wide = 0;
  for (const OpCase& op_case : op_cases()) {
    if (op_case.op != OpKind::BatchNormFused) continue;
    SCOPED_TRACE(op_case.name);
    Graph graph = build_case(op_case, DType::F32);
    LoweredNode lowered = backend->lower(graph, backend->target()).nodes.back();
    if (op_case.inputs[0].shape == Shape{3, 2100}) {
      EXPECT_EQ(lowered.implementation, "composed");
      ASSERT_EQ(lowered.refusals.size(), 1u);
      EXPECT_EQ(lowered.refusals[0].reason,
                "2100 channels, a pass of its own is faster above 1024");
      ++wide;
    } else {
      EXPECT_EQ(lowered.implementation, "simd");
    }
  }
  EXPECT_GT(wide, 0);
}

// A composed implementation needs no memory but its parts'.
TEST(Fused, ReferenceNeedsTheScratchOfThePlainOp) {
  std::unique_ptr<Backend> backend = make_backend("reference");
  for (const OpCase& op_case : op_cases()) {
    if (!has_program(op_case.op)) continue;
    Graph fused = build_case(op_case, DType::F32), apart = build_apart(op_case, DType::F32);
    size_t most = 0;
    for (const LoweredNode& node : backend->lower(apart, backend->target()).nodes) {
      most = std::max(most, node.workspace_bytes);
    }
    EXPECT_EQ(backend->lower(fused, backend->target()).nodes.back().workspace_bytes, most)
        << op_case.name;
  }
}

}  // namespace
}  // namespace pounce
