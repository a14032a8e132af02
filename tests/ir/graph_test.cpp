// Building graphs, and what the verifier catches.
#include "ir/graph.h"

#include <gtest/gtest.h>

#include "expect_error.h"
#include "ir/sample_nodes.h"
#include "ir/verify.h"

namespace pounce {
namespace {

const TensorType kMatrix = {DType::F32, {3, 4}};
const TensorType kVector = {DType::F32, {4}};

// The builder makes no broken graph, so these break one behind its back.
Node& node_to_break(Graph& graph, size_t index) {
  return const_cast<Node&>(graph.nodes()[index]);
}
Store& store_to_break(Graph& graph, size_t index) {
  return const_cast<Store&>(graph.stores()[index]);
}

// %0 = x, %1 = w, %2 = bias_add(x, w), %3 = relu(%2); w <- w2 = %4.
struct Small {
  Graph graph;
  Value x = graph.add_input("x", kMatrix);
  Value w = graph.add_variable("w", kVector, VariableRole::Parameter);
  Value y = graph.add_one(OpKind::BiasAdd, {x, w}, {}, "fc");
  Value z = graph.add_one(OpKind::Relu, {y});
  Value next = graph.add_one(OpKind::BiasBwd, {z});
  Small() {
    graph.store(w, next);
    graph.add_output("z", z);
  }
};

TEST(Graph, FindsWhatItHolds) {
  Small small;
  const Graph& graph = small.graph;
  EXPECT_EQ(graph.find_input("x"), small.x);
  EXPECT_EQ(graph.find_variable("w"), small.w);
  EXPECT_EQ(graph.find_output("z"), small.z);
  EXPECT_FALSE(graph.find_input("w").valid());
  EXPECT_FALSE(graph.find_variable("x").valid());
  EXPECT_FALSE(graph.find_output("x").valid());
  EXPECT_TRUE(graph.is_input(small.x));
  EXPECT_TRUE(graph.is_variable(small.w));
  EXPECT_FALSE(graph.is_variable(small.y));
  EXPECT_EQ(graph.role(small.w), VariableRole::Parameter);
  EXPECT_EQ(graph.producer(small.z), 3);
  EXPECT_EQ(graph.describe(graph.nodes()[2]), "fc");
  EXPECT_EQ(graph.describe(graph.nodes()[3]), "relu %3");
  EXPECT_EQ(to_string(graph.type(small.y)), "f32[3,4]");
}

TEST(Graph, FillsInDefaultAttributes) {
  Graph graph = build_sample(sample_node(OpKind::Conv2d));
  const Attributes& attributes = graph.nodes().back().attributes;
  EXPECT_EQ(attributes.integers("dilation"), (std::vector<int64_t>{1, 1}));
  EXPECT_EQ(attributes.integer("groups"), 1);
  EXPECT_ERROR(attributes.integer("stride"), ErrorKind::Internal, "stride");
  EXPECT_ERROR(attributes.number("nothing"), ErrorKind::Internal, "nothing");
}

TEST(Graph, RejectsNamesTakenAndWrongStores) {
  Small small;
  Graph& graph = small.graph;
  EXPECT_ERROR(graph.add_input("x", kVector), ErrorKind::InvalidArgument, "input \"x\"");
  EXPECT_ERROR(graph.add_input("", kVector), ErrorKind::InvalidArgument, "input \"\"");
  EXPECT_ERROR(graph.add_variable("w", kVector, VariableRole::Scalar), ErrorKind::InvalidArgument,
               "variable \"w\"");
  EXPECT_ERROR(graph.add_output("z", small.x), ErrorKind::InvalidArgument, "output \"z\"");
  EXPECT_ERROR(graph.store(small.w, small.next), ErrorKind::InvalidArgument, "\"w\"", "already");
  Value other = graph.add_variable("other", kMatrix, VariableRole::Optimizer);
  EXPECT_ERROR(graph.store(other, small.next), ErrorKind::InvalidArgument, "\"other\"", "f32[3,4]",
               "f32[4]");
  EXPECT_ERROR(graph.store(small.y, small.z), ErrorKind::Internal, "is_variable");
  EXPECT_ERROR(graph.add(OpKind::Relu, {Value{99}}), ErrorKind::Internal, "value_count");
  EXPECT_ERROR(graph.add(OpKind::Input, {}), ErrorKind::Internal, "infer");
  EXPECT_NO_THROW(verify_graph(graph));
}

TEST(Verifier, CatchesABrokenInput) {
  for (Value input : {Value{-1}, Value{99}, Value{3}, Value{4}}) {
    Small small;
    node_to_break(small.graph, 3).inputs[0] = input;
    EXPECT_ERROR(verify_graph(small.graph), ErrorKind::Internal, "relu %3",
                 "not made by an earlier node");
  }
}

TEST(Verifier, CatchesBrokenAttributes) {
  Graph graph = build_sample(sample_node(OpKind::OneHot));
  Attributes& attributes = node_to_break(graph, 1).attributes;
  attributes = {{"smoothing", 0.0}};
  EXPECT_ERROR(verify_graph(graph), ErrorKind::Internal, "layer", "classes");
  attributes = {{"smoothing", 0.0}, {"classes", 4.0}};
  EXPECT_ERROR(verify_graph(graph), ErrorKind::Internal, "layer", "classes");
  attributes = {{"smoothing", 0.0}, {"classes", int64_t{4}}, {"colour", int64_t{4}}};
  EXPECT_ERROR(verify_graph(graph), ErrorKind::Internal, "layer", "colour");
}

TEST(Verifier, CatchesOutputsTheTableDoesNotInfer) {
  Graph graph = build_sample(sample_node(OpKind::OneHot));
  node_to_break(graph, 1).attributes.set("classes", int64_t{5});
  EXPECT_ERROR(verify_graph(graph), ErrorKind::Internal, "layer", "f32[3,4]", "f32[3,5]");

  Small small;
  node_to_break(small.graph, 3).outputs[0] = small.y;  // made by another node
  EXPECT_ERROR(verify_graph(small.graph), ErrorKind::Internal, "output %2");
  node_to_break(small.graph, 3).outputs[0] = Value{99};
  EXPECT_ERROR(verify_graph(small.graph), ErrorKind::Internal, "output %99");
  node_to_break(small.graph, 3).outputs.clear();
  EXPECT_ERROR(verify_graph(small.graph), ErrorKind::Internal, "0 outputs");
}

TEST(Verifier, CatchesShapesNoRuleAllows) {
  Small small;
  node_to_break(small.graph, 2).inputs[1] = small.x;
  EXPECT_ERROR(verify_graph(small.graph), ErrorKind::Internal, "fc", "f32[3,4]", "f32[4]");
}

TEST(Verifier, CatchesBrokenStoresAndOutputs) {
  const Store broken[] = {{Value{1}, Value{99}},
                          {Value{1}, Value{-1}},
                          {Value{99}, Value{4}},
                          {Value{2}, Value{3}},
                          {Value{1}, Value{3}}};
  for (const Store& store : broken) {
    Small small;
    store_to_break(small.graph, 0) = store;
    EXPECT_ERROR(verify_graph(small.graph), ErrorKind::Internal, "store");
  }
  Small twice;
  Value other = twice.graph.add_variable("other", kVector, VariableRole::Optimizer);
  twice.graph.store(other, twice.next);
  store_to_break(twice.graph, 1).variable = twice.w;
  EXPECT_ERROR(verify_graph(twice.graph), ErrorKind::Internal, "one store");

  Small small;
  small.graph.add_output("nothing", Value{99});
  EXPECT_ERROR(verify_graph(small.graph), ErrorKind::Internal, "output \"nothing\"");
}

}  // namespace
}  // namespace pounce
