// The structure of backward graphs; that their numbers are right is tested in tests/backend.
#include "autodiff/autodiff.h"

#include <gtest/gtest.h>

#include "expect_error.h"
#include "ir/text.h"
#include "ir/verify.h"

namespace pounce {
namespace {

const TensorType kVector = {DType::F32, {4}};
const TensorType kMatrix = {DType::F32, {3, 4}};

int count_ops(const Graph& graph, OpKind op) {
  int count = 0;
  for (const Node& node : graph.nodes()) count += node.op == op;
  return count;
}

// Gradients of <cotangent, y>.
std::vector<Value> differentiate(Graph& graph, Value y, std::vector<Value> wanted) {
  Value cotangent = graph.add_input("cotangent", graph.type(y));
  return gradients(graph, std::span(&y, 1), std::span(&cotangent, 1), wanted);
}

TEST(Gradients, BuildsOnlyWhatIsNeeded) {
  Graph graph;
  Value x = graph.add_input("x", {DType::F32, {2, 6, 6, 3}});
  Value w1 = graph.add_variable("w1", {DType::F32, {4, 3, 3, 3}}, VariableRole::Parameter);
  Value w2 = graph.add_variable("w2", {DType::F32, {5, 3, 3, 4}}, VariableRole::Parameter);
  Value h = graph.add_one(OpKind::Conv2d, {x, w1}, {}, "conv1");
  Value y = graph.add_one(OpKind::Conv2d, {h, w2}, {}, "conv2");
  size_t forward = graph.nodes().size();
  std::vector<Value> grads = differentiate(graph, y, {w1, w2});
  // No gradient of the images.
  EXPECT_EQ(count_ops(graph, OpKind::Conv2dBwdWeights), 2);
  EXPECT_EQ(count_ops(graph, OpKind::Conv2dBwdData), 1);
  EXPECT_EQ(graph.nodes().size(), forward + 4);
  EXPECT_EQ(graph.type(grads[0]), graph.type(w1));
  EXPECT_EQ(graph.type(grads[1]), graph.type(w2));
  // Backward nodes carry the layer's name.
  EXPECT_EQ(graph.describe(graph.nodes()[size_t(graph.producer(grads[0]))]), "conv1");
  EXPECT_NO_THROW(verify_graph(graph));
}

TEST(Gradients, AreZeroWhereNothingDepends) {
  Graph graph;
  Value x = graph.add_input("x", kMatrix);
  Value unused = graph.add_variable("unused", kVector, VariableRole::Parameter);
  Value y = graph.add_one(OpKind::Relu, {x});
  std::vector<Value> grads = differentiate(graph, y, {unused, x});
  const Node& zero = graph.nodes()[size_t(graph.producer(grads[0]))];
  EXPECT_EQ(zero.op, OpKind::Fill);
  EXPECT_EQ(zero.attributes.number("value"), 0);
  EXPECT_EQ(graph.type(grads[0]), kVector);
  EXPECT_EQ(count_ops(graph, OpKind::ReluBwd), 1);
}

TEST(Gradients, AreSummedOverAllUses) {
  Graph graph;
  Value x = graph.add_input("x", kMatrix);
  Value a = graph.add_one(OpKind::Relu, {x});
  Value y = graph.add_one(OpKind::Add, {graph.add_one(OpKind::Mul, {a, a}), a});
  int adds = count_ops(graph, OpKind::Add);
  std::vector<Value> grads = differentiate(graph, y, {x});
  // Three uses of a: two sums.
  EXPECT_EQ(count_ops(graph, OpKind::Add) - adds, 2);
  EXPECT_EQ(graph.nodes()[size_t(graph.producer(grads[0]))].op, OpKind::ReluBwd);
}

TEST(Gradients, OfAnOutputItselfIsTheCotangent) {
  Graph graph;
  Value x = graph.add_input("x", kMatrix);
  Value cotangent = graph.add_input("cotangent", kMatrix);
  size_t nodes = graph.nodes().size();
  EXPECT_EQ(gradients(graph, std::span(&x, 1), std::span(&cotangent, 1), std::span(&x, 1)),
            (std::vector<Value>{cotangent}));
  EXPECT_EQ(graph.nodes().size(), nodes);
}

TEST(Gradients, OfSeveralOutputsAreSummed) {
  Graph graph;
  Value x = graph.add_input("x", kMatrix);
  Value outputs[] = {graph.add_one(OpKind::Relu, {x}), x};
  Value cotangents[] = {graph.add_input("c0", kMatrix), graph.add_input("c1", kMatrix)};
  std::vector<Value> grads = gradients(graph, outputs, cotangents, std::span(&x, 1));
  EXPECT_EQ(graph.nodes()[size_t(graph.producer(grads[0]))].op, OpKind::Add);
}

TEST(Gradients, RejectWhatHasNoRule) {
  Graph graph;
  Value x = graph.add_input("x", kMatrix);
  Value reduced = graph.add_one(OpKind::AllReduce, {x}, {}, "sum over ranks");
  EXPECT_FALSE(is_differentiable(OpKind::AllReduce));
  EXPECT_TRUE(is_differentiable(OpKind::Conv2d));
  EXPECT_ERROR(differentiate(graph, reduced, {x}), ErrorKind::Internal, "sum over ranks",
               "all_reduce");
}

TEST(Gradients, RejectACotangentOfAnotherType) {
  Graph graph;
  Value x = graph.add_input("x", kMatrix);
  Value cotangent = graph.add_input("cotangent", kVector);
  EXPECT_ERROR(gradients(graph, std::span(&x, 1), std::span(&cotangent, 1), std::span(&x, 1)),
               ErrorKind::Internal, "f32[4]", "f32[3,4]");
}

TEST(Gradients, OfBatchNormAndLossReachParametersAlone) {
  Graph graph = parse_graph(
      "%0:f32[6,4] = input() \"x\"\n"
      "%1:f32[4] = variable() {role=\"parameter\"} \"gamma\"\n"
      "%2:f32[4] = variable() {role=\"parameter\"} \"beta\"\n"
      "%3:f32[4] = variable() {role=\"statistic\"} \"mean\"\n"
      "%4:f32[4] = variable() {role=\"statistic\"} \"var\"\n"
      "%5:f32[6,4], %6:f32[4], %7:f32[4], %8:f32[4], %9:f32[4] = "
      "batch_norm(%0, %1, %2, %3, %4) \"bn\"\n"
      "%10:f32[6,4] = input() \"targets\"\n"
      "%11:f32[6] = input() \"weights\"\n"
      "%12:f32[6] = cross_entropy(%5, %10, %11) \"loss\"\n");
  std::vector<Value> grads = differentiate(graph, Value{12}, {Value{1}, Value{2}});
  EXPECT_EQ(count_ops(graph, OpKind::CrossEntropyBwd), 1);
  ASSERT_EQ(count_ops(graph, OpKind::BatchNormBwd), 1);
  const Node& backward = graph.nodes().back();
  EXPECT_EQ(grads, (std::vector<Value>{backward.outputs[1], backward.outputs[2]}));
}

}  // namespace
}  // namespace pounce
