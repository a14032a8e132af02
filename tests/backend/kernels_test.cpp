// The tables of the shared kernels as plain data, without a device: what runs them is tested with
// each GPU backend.
#include <algorithm>
#include <set>
#include <stdexcept>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "backend/kernels/launch.h"
#include "backend/kernels/program_text.h"
#include "backend/op_cases.h"
#include "ir/fused.h"

namespace pounce {
namespace {

const Target& target() {
  static const Target gpu = [] {
    Target opencl;
    opencl.kind = DeviceKind::OpenCl;
    return opencl;
  }();
  return gpu;
}

const Node& node_of(const Graph& graph, OpKind op) {
  for (const Node& node : graph.nodes()) {
    if (node.op == op) return node;
  }
  throw std::runtime_error("no such node");
}

// The first implementation that serves the node; null where there is none.
const kernels::Implementation* chosen(const NodeContext& context) {
  for (const kernels::Implementation& candidate : kernels::implementations(context.node.op)) {
    if (candidate.refuse == nullptr || !candidate.refuse(context)) return &candidate;
  }
  return nullptr;
}

void expect_within_limits(const NodeContext& context) {
  const kernels::Implementation* implementation = chosen(context);
  ASSERT_NE(implementation, nullptr);
  size_t scratch = implementation->workspace_bytes ? implementation->workspace_bytes(context) : 0;
  for (const kernels::Launch& launch : implementation->launches(context)) {
    EXPECT_LE(launch.items, 256) << launch.entry;
    EXPECT_LT(launch.groups[0], int64_t{1} << 31) << launch.entry;
    EXPECT_LE(launch.groups[1], 65535) << launch.entry;
    EXPECT_LE(launch.groups[2], 65535) << launch.entry;
    for (const kernels::Argument& argument : launch.arguments) {
      const auto* operand = std::get_if<kernels::Operand>(&argument);
      if (operand == nullptr || operand->kind != kernels::Operand::Kind::Workspace) continue;
      EXPECT_LT(operand->offset, scratch) << launch.entry;
    }
  }
}

TEST(Kernels, ServeEveryCaseButDoublesWithinTheLimitsOfDevices) {
  for (DType dtype : {DType::F32, DType::F16, DType::BF16}) {
    for (const OpCase& op_case : op_cases()) {
      SCOPED_TRACE(fmt::format("{} in {}", op_case.name, dtype_name(dtype)));
      if (dtype != DType::F32 && !has_half_form(op_case)) continue;
      Graph graph = build_case(op_case, dtype);
      const Node& node = node_of(graph, op_case.op);
      auto is_f64 = [&](Value value) { return graph.type(value).dtype == DType::F64; };
      auto is_empty = [&](Value value) { return graph.shape(value).elements() == 0; };
      std::vector<Value> values = node.inputs;
      values.insert(values.end(), node.outputs.begin(), node.outputs.end());
      if (std::any_of(values.begin(), values.end(), is_f64)) continue;
      if (std::any_of(values.begin(), values.end(), is_empty)) continue;
      expect_within_limits({graph, node, target()});
    }
  }
}

// x2 rounds as the store of a node of its own would; the last step's store does.
TEST(Kernels, ProgramsBecomeABlockAStep) {
  EXPECT_EQ(kernels::program_text(parse_program("add(0,1); relu(2); relu_bwd(0,3)", 2)),
            "float x2; { const float a = x0, b = x1; x2 = ROUND(Y_TYPE, a + b); } "
            "float x3; { const float a = x2; x3 = ROUND(Y_TYPE, a < 0 ? 0 : a); } "
            "{ const float a = x0, b = x3; y = b <= 0 ? 0 : a; }");
}

// The program begins with the plain op's result: in its last launch, or in one behind it.
TEST(Kernels, FusedFormsAddAtMostOneLaunch) {
  int composed = 0, within = 0;
  for (const OpCase& op_case : op_cases()) {
    if (!plain_op(op_case.op)) continue;
    SCOPED_TRACE(op_case.name);
    Graph graph = build_case(op_case, DType::F32);
    const Node& node = node_of(graph, op_case.op);
    NodeContext context{graph, node, target()};
    const kernels::Implementation& implementation = *chosen(context);
    std::vector<kernels::Launch> launches = implementation.launches(context);
    Node plain = plain_node(node);
    NodeContext of_plain{graph, plain, target()};
    bool is_composed = implementation.name == "composed";
    EXPECT_EQ(launches.size(), chosen(of_plain)->launches(of_plain).size() + is_composed);
    EXPECT_EQ(launches.back().entry, is_composed ? "elementwise" : "apply_table");
    ++(is_composed ? composed : within);
  }
  EXPECT_GT(composed, 10);
  EXPECT_GT(within, 10);
}

// Sums over the batch and many images: grids grow with what they cover.
TEST(Kernels, LargeTensorsStayWithinTheLimitsOfDevices) {
  Graph graph;
  Value x = graph.add_input("x", {DType::F32, {1024, 224, 224, 3}});
  Value weights = graph.add_input("weights", {DType::F32, {64, 7, 7, 3}});
  Value channels = graph.add_input("channels", {DType::F32, {3}});
  Value heads = graph.add_input("heads", {DType::F32, {1024, 96, 8, 8}});
  const Attributes stride = {{"stride", std::vector<int64_t>{2, 2}},
                             {"padding", std::vector<int64_t>{3, 3}}};
  Attributes kernel = stride;
  kernel.set("kernel", std::vector<int64_t>{7, 7});
  Value y = graph.add_one(OpKind::Conv2d, {x, weights}, stride);
  graph.add_one(OpKind::Conv2dBwdWeights, {x, y}, kernel);
  graph.add_one(OpKind::ReduceSum, {x}, {{"axes", std::vector<int64_t>{0, 1, 2}}});
  graph.add_one(OpKind::ReduceMax, {x}, {{"axes", std::vector<int64_t>{0, 1, 2, 3}}});
  graph.add_one(OpKind::BatchMatMul, {heads, heads});
  graph.add_one(OpKind::Add, {x, channels});
  graph.add(OpKind::BatchNorm, {x, channels, channels, channels, channels});
  for (const Node& node : graph.nodes()) {
    if (is_leaf(node.op)) continue;
    SCOPED_TRACE(op_info(node.op).name);
    expect_within_limits({graph, node, target()});
  }
}

// An evaluation's graph takes no other; only statistics of a batch cannot keep it.
TEST(Kernels, EndWithABatchInvariantOneWhereEvaluationNeedsIt) {
  for (const OpInfo& op : op_table()) {
    std::span<const kernels::Implementation> list = kernels::implementations(op.kind);
    if (list.empty() || op.kind == OpKind::BatchNorm) continue;
    EXPECT_TRUE(list.back().batch_invariant) << op.name;
  }
}

std::set<kernels::Program> programs_at(int64_t batch, int64_t size) {
  const std::vector<int64_t> two = {2, 2};
  Graph graph;
  Value x = graph.add_input("x", {DType::F32, {batch, size, size, 8}});
  Value channels = graph.add_input("channels", {DType::F32, {8}});
  Value pooled = graph.add(OpKind::MaxPool, {x}, {{"kernel", two}, {"stride", two}})[0];
  graph.add(OpKind::BatchNorm, {x, channels, channels, channels, channels});
  graph.add_one(OpKind::Add, {x, channels});
  graph.add_one(OpKind::GlobalAvgPool, {pooled});
  std::set<kernels::Program> found;
  for (const Node& node : graph.nodes()) {
    if (is_leaf(node.op)) continue;
    NodeContext context{graph, node, target()};
    for (const kernels::Launch& launch : chosen(context)->launches(context)) {
      found.insert(launch.program);
    }
  }
  return found;
}

// An image more in a batch, or a larger one, must not mean another compilation.
TEST(Kernels, ShapesAreArguments) {
  EXPECT_EQ(programs_at(4, 32), programs_at(7, 40));
}

}  // namespace
}  // namespace pounce
