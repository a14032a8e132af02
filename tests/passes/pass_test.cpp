// Each pass by itself on graphs made for it, and the list that runs them.
#include "passes/pass.h"

#include <gtest/gtest.h>

#include "expect_error.h"
#include "ir/text.h"

namespace pounce {
namespace {

const TensorType kVector = {DType::F32, {4}};

int count_ops(const Graph& graph, OpKind op) {
  int count = 0;
  for (const Node& node : graph.nodes()) count += node.op == op;
  return count;
}

TEST(EliminateDeadCode, KeepsWhatStoresOutputsAndInputsNeed) {
  Graph graph = parse_graph(
      "%0:f32[4] = input() \"unused\"\n"
      "%1:f32[4] = variable() {role=\"scalar\"} \"unused variable\"\n"
      "%2:f32[4] = variable() {role=\"scalar\"} \"stored\"\n"
      "%3:f32[4] = relu(%0)\n"
      "%4:f32[4] = relu(%3)\n"
      "%5:f32[4] = add(%3, %3)\n"
      "%6:f32[4] = mul(%4, %4)\n"
      "store %2 <- %5\n");
  EXPECT_EQ(print_graph(eliminate_dead_code(graph)),
            "%0:f32[4] = input() \"unused\"\n"
            "%1:f32[4] = variable() {role=\"scalar\"} \"stored\"\n"
            "%2:f32[4] = relu(%0)\n"
            "%3:f32[4] = add(%2, %2)\n"
            "store %1 <- %3\n");
}

TEST(MergeCommonSubexpressions, MakesEqualNodesOne) {
  Graph graph = parse_graph(
      "%0:f32[4] = input() \"x\"\n"
      "%1:f32[4] = relu(%0) \"first\"\n"
      "%2:f32[4] = relu(%0) \"second\"\n"
      "%3:f32[4] = add(%1, %0)\n"
      "%4:f32[4] = add(%2, %0)\n"
      "%5:f32[4] = add(%0, %1)\n"
      "%6:f32[4] = mul(%3, %4)\n"
      "output %6 \"y\"\n"
      "output %5 \"z\"\n");
  EXPECT_EQ(print_graph(merge_common_subexpressions(graph)),
            "%0:f32[4] = input() \"x\"\n"
            "%1:f32[4] = relu(%0) \"first\"\n"
            "%2:f32[4] = add(%1, %0)\n"
            "%3:f32[4] = add(%0, %1)\n"
            "%4:f32[4] = mul(%2, %2)\n"
            "output %4 \"y\"\n"
            "output %3 \"z\"\n");
}

TEST(MergeCommonSubexpressions, KeepsAttributesAndCommunicationApart) {
  Graph graph;
  Value x = graph.add_input("x", {DType::F32, {4, 4}});
  for (int64_t transposed : {0, 1}) {
    graph.add_one(OpKind::MatMul, {x, x}, {{"transpose_a", transposed}});
  }
  graph.add_one(OpKind::AllReduce, {x});
  graph.add_one(OpKind::AllReduce, {x});
  EXPECT_EQ(merge_common_subexpressions(graph).nodes().size(), graph.nodes().size());
}

struct StoreCase {
  const char* name;
  const char* text;
  int copies;
};

constexpr StoreCase kStoreCases[] = {
    {"in place",
     "%0:f32[4] = variable() {role=\"scalar\"} \"a\"\n"
     "%1:f32[4] = relu(%0)\n"
     "store %0 <- %1\n",
     0},
    {"after its last reader",
     "%0:f32[4] = variable() {role=\"scalar\"} \"a\"\n"
     "%1:f32[4] = input() \"x\"\n"
     "%2:f32[4] = add(%0, %1)\n"
     "%3:f32[4] = relu(%1)\n"
     "store %0 <- %3\n"
     "output %2 \"y\"\n",
     0},
    {"the old value is read later",
     "%0:f32[4] = variable() {role=\"scalar\"} \"a\"\n"
     "%1:f32[4] = relu(%0)\n"
     "%2:f32[4] = add(%0, %0)\n"
     "store %0 <- %1\n"
     "output %2 \"y\"\n",
     1},
    {"read twice by the node that makes it",
     "%0:f32[4] = variable() {role=\"scalar\"} \"a\"\n"
     "%1:f32[4] = add(%0, %0)\n"
     "store %0 <- %1\n",
     1},
    {"an input",
     "%0:f32[4] = variable() {role=\"scalar\"} \"a\"\n"
     "%1:f32[4] = input() \"x\"\n"
     "store %0 <- %1\n",
     1},
    {"one value to two variables",
     "%0:f32[4] = variable() {role=\"scalar\"} \"a\"\n"
     "%1:f32[4] = variable() {role=\"scalar\"} \"b\"\n"
     "%2:f32[4] = input() \"x\"\n"
     "%3:f32[4] = relu(%2)\n"
     "store %0 <- %3\n"
     "store %1 <- %3\n",
     1},
    {"two variables change places",
     "%0:f32[4] = variable() {role=\"scalar\"} \"a\"\n"
     "%1:f32[4] = variable() {role=\"scalar\"} \"b\"\n"
     "store %0 <- %1\n"
     "store %1 <- %0\n",
     4},
    {"a variable that keeps its value to another",
     "%0:f32[4] = variable() {role=\"scalar\"} \"a\"\n"
     "%1:f32[4] = variable() {role=\"scalar\"} \"b\"\n"
     "store %0 <- %1\n",
     1},
    {"the old value to another variable",
     "%0:f32[4] = variable() {role=\"scalar\"} \"a\"\n"
     "%1:f32[4] = variable() {role=\"scalar\"} \"b\"\n"
     "%2:f32[4] = relu(%0)\n"
     "store %0 <- %2\n"
     "store %1 <- %0\n",
     3},
    {"the old value is an output",
     "%0:f32[4] = variable() {role=\"scalar\"} \"a\"\n"
     "%1:f32[4] = relu(%0)\n"
     "store %0 <- %1\n"
     "output %0 \"old\"\n"
     "output %1 \"new\"\n",
     2},
    {"to itself",
     "%0:f32[4] = variable() {role=\"scalar\"} \"a\"\n"
     "store %0 <- %0\n"
     "output %0 \"y\"\n",
     0},
};

TEST(LegalizeStores, CopiesOnlyWhereItMust) {
  for (const StoreCase& each : kStoreCases) {
    SCOPED_TRACE(each.name);
    Graph legal = legalize_stores(parse_graph(each.text));
    EXPECT_EQ(count_ops(legal, OpKind::Copy), each.copies) << print_graph(legal);
    std::string text = print_graph(legal);
    EXPECT_EQ(print_graph(parse_graph(text)), text);
  }
}

TEST(PassList, HasUniqueNamesAndRunsInOrder) {
  ASSERT_FALSE(pass_list().empty());
  Graph graph;
  graph.add_output("y", graph.add_one(OpKind::Relu, {graph.add_input("x", kVector)}));
  std::vector<PassReport> reports;
  run_passes(graph, {}, &reports);
  ASSERT_EQ(reports.size(), pass_list().size());
  for (size_t i = 0; i < reports.size(); ++i) {
    EXPECT_EQ(reports[i].name, pass_list()[i].name);
    EXPECT_GE(reports[i].milliseconds, 0);
    EXPECT_EQ(reports[i].nodes_before, 2u);
    EXPECT_EQ(reports[i].nodes_after, 2u);
    EXPECT_FALSE(pass_list()[i].summary.empty());
  }
}

TEST(PassList, LeavesOutWhatIsDisabled) {
  Graph graph;
  Value x = graph.add_input("x", kVector);
  graph.add_one(OpKind::Relu, {x});
  Graph kept = run_passes(graph, {.disabled = {"eliminate_dead_code"}}, nullptr);
  EXPECT_EQ(kept.nodes().size(), 2u);
  EXPECT_EQ(run_passes(graph, {}, nullptr).nodes().size(), 1u);
  std::vector<PassReport> reports;
  run_passes(graph, {.disabled = {"eliminate_dead_code", "merge_common_subexpressions"}}, &reports);
  EXPECT_EQ(reports.size(), pass_list().size() - 2);
}

TEST(PassList, RejectsNamesThatCannotBeDisabled) {
  for (const char* name : {"no_such_pass", "legalize_stores", ""}) {
    EXPECT_ERROR(run_passes(Graph(), {.disabled = {name}}, nullptr), ErrorKind::InvalidArgument,
                 std::string("\"") + name + "\"",
                 "merge_common_subexpressions, eliminate_dead_code, fuse_elementwise");
  }
}

// The builder makes no broken graph: this one is broken behind its back.
TEST(PassList, NeverReturnsABrokenGraph) {
  Graph graph;
  Value x = graph.add_input("x", kVector);
  Value y = graph.add_one(OpKind::Relu, {x}, {}, "layer");
  graph.add_output("y", y);
  const_cast<Node&>(graph.nodes()[1]).inputs.push_back(x);
  EXPECT_THROW(run_passes(graph, {}, nullptr), Error);
}

TEST(Passes, KeepTheNeedForBatchInvariance) {
  Graph graph;
  graph.add_output("y", graph.add_one(OpKind::Relu, {graph.add_input("x", {DType::F32, {2}})}));
  EXPECT_FALSE(run_passes(graph, {}, nullptr).needs_batch_invariance());
  graph.require_batch_invariance();
  EXPECT_TRUE(run_passes(graph, {}, nullptr).needs_batch_invariance());
}

}  // namespace
}  // namespace pounce
