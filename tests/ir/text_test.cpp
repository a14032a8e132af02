// Print, parse, print; and what the parser says about text that is no graph.
#include "ir/text.h"

#include <cmath>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "expect_error.h"
#include "ir/sample_nodes.h"

namespace pounce {
namespace {

constexpr char kSmall[] =
    "%0:f32[3,4] = input() \"x\"\n"
    "%1:f32[4] = variable() {role=\"parameter\"} \"fc.bias\"\n"
    "%2:f32[3,4] = bias_add(%0, %1) \"fc\"\n"
    "%3:f32[3,4] = relu(%2)\n"
    "%4:f32[4] = bias_bwd(%3)\n"
    "store %1 <- %4\n"
    "output %3 \"y\"\n";

TEST(GraphText, PrintsAsDocumented) {
  Graph graph = build_sample(sample_node(OpKind::MaxPool));
  EXPECT_EQ(print_graph(graph),
            "%0:f32[2,6,5,4] = input() \"x0\"\n"
            "%1:f32[2,3,3,4], %2:u8[2,3,3,4] = max_pool(%0) "
            "{kernel=[3,3], padding=[1,1], stride=[2,2]} \"layer\"\n"
            "output %1 \"y0\"\n"
            "output %2 \"y1\"\n");
  EXPECT_EQ(print_graph(parse_graph(kSmall)), kSmall);
  EXPECT_EQ(print_graph(Graph()), "");
  EXPECT_EQ(print_graph(parse_graph("")), "");
  graph.require_batch_invariance();
  std::string text = print_graph(graph);
  EXPECT_EQ(text.substr(0, text.find('\n')), "batch_invariant");
  EXPECT_EQ(print_graph(parse_graph(text)), text);
}

TEST(GraphText, ParsesEveryOpBack) {
  for (const SampleNode& sample : sample_nodes()) {
    std::string text = print_graph(build_sample(sample));
    EXPECT_EQ(print_graph(parse_graph(text)), text);
  }
}

TEST(GraphText, KeepsNumbersToTheLastBit) {
  for (double value : {0.1, 1.0, -0.0, 1e-300, 1.0 / 3, 5e-324, 1.7976931348623157e308}) {
    SampleNode fill = sample_node(OpKind::Fill);
    fill.attributes.set("value", value);
    Graph graph = parse_graph(print_graph(build_sample(fill)));
    double found = graph.nodes()[0].attributes.number("value");
    EXPECT_EQ(std::signbit(found), std::signbit(value));
    EXPECT_EQ(found, value);
  }
}

TEST(GraphText, KeepsNamesWithQuotesAndRoles) {
  Graph graph;
  graph.add_input("a \"quoted\\ name\" %3", {DType::U8, {}});
  for (int role = 0; role < kRoleCount; ++role) {
    graph.add_variable(fmt::format("v{}", role), {DType::BF16, {1, 2, 3, 4, 5, 6}},
                       VariableRole(role));
  }
  std::string text = print_graph(graph);
  Graph parsed = parse_graph(text);
  EXPECT_EQ(print_graph(parsed), text);
  EXPECT_TRUE(parsed.find_input("a \"quoted\\ name\" %3").valid());
  EXPECT_EQ(parsed.role(parsed.find_variable("v3")), VariableRole::Gradient);
}

TEST(GraphText, ToleratesSpacesAndEmptyLines) {
  Graph graph = parse_graph("\n  %0 : f32 [ 3 , 4 ] = input ( ) \"x\"\n\n%1:f32[3,4]=relu(%0)\n  ");
  EXPECT_EQ(print_graph(graph), "%0:f32[3,4] = input() \"x\"\n%1:f32[3,4] = relu(%0)\n");
}

struct BrokenText {
  const char* line;  // after the three lines of kStart
  std::vector<std::string> parts;
};

constexpr char kStart[] =
    "%0:f32[3,4] = input() \"x\"\n"
    "%1:f32[4] = variable() {role=\"parameter\"} \"w\"\n";

std::vector<BrokenText> broken_lines() {
  return {
      {"relu(%0)", {"column 1", "expected %"}},
      {"%2:f32[3,4]", {"column 12", "expected ="}},
      {"%2:f31[3,4] = relu(%0)", {"column 7", "a dtype"}},
      {"%2:f32[3,4 = relu(%0)", {"column 12", "expected ,"}},
      {"%2:f32[3,x] = relu(%0)", {"column 10", "a number"}},
      {"%2:f32[3,-4] = relu(%0)", {"column", "-4"}},
      {"%2:f32[99999999999999999999] = relu(%0)", {"column 8", "a number"}},
      {"%2:f32[3,4] = rilu(%0)", {"column 19", "the name of an op"}},
      {"%2:f32[3,4] = relu(%2)", {"column 22", "a value made above"}},
      {"%2:f32[3,4] = relu(%-1)", {"a value made above"}},
      {"%2:f32[3,4] = relu(%0", {"column 22", "expected ,"}},
      {"%3:f32[3,4] = relu(%0)", {"column 3", "numbered in order"}},
      {"%2:f32[3,5] = relu(%0)", {"column", "f32[3,4]"}},
      {"%2:f32[3,4], %3:f32[3,4] = relu(%0)", {"column", "f32[3,4]"}},
      {"%2:f32[3,4] = relu(%0, %0)", {"column", "2 inputs given, 1 expected"}},
      {"%2:f32[3,4] = relu(%0) {a=1}", {"column 27", "an attribute of relu"}},
      {"%2:f32[3,4] = relu(%0) x", {"column 24", "expected \""}},
      {"%2:f32[3,4] = relu(%0) \"x", {"column 26", "expected \""}},
      {"%2:f32[3,4] = relu(%0) \"x\\", {"expected \""}},
      {"%2:f32[3,4] = relu(%0) \"x\" \"y\"", {"column 28", "the end of the line"}},
      {"%2:f32[2] = fill() {shape=[2], value=x}", {"column 38", "a number"}},
      {"%2:f32[2] = fill() {shape=2, value=1}", {"column 27", "expected ["}},
      {"%2:f32[2] = fill() {shape=[2] value=1}", {"column 31", "expected }"}},
      {"%2:f32[2] = fill() {shape=[2]}", {"column", "attribute value is missing"}},
      {"%2:f32[2] = variable() \"v\"", {"column", "role"}},
      {"%2:f32[2] = variable() {role=\"king\"} \"v\"", {"column", "role"}},
      {"%2:f32[2] = variable() {role=\"scalar\"} \"w\"", {"column", "not yet taken"}},
      {"%2:f32[2] = input()", {"column", "not yet taken"}},
      {"%2:f32[2], %3:f32[2] = input() \"i\"", {"column", "one output"}},
      {"%2:f32[2] = input(%0) \"i\"", {"column", "no inputs"}},
      {"store %0 <- %0", {"column 9", "a variable"}},
      {"store %1 - %0", {"column 10", "expected <-"}},
      {"store %1 <- %0", {"column", "f32[4]", "f32[3,4]"}},
      {"store %1 <- %7", {"column 15", "a value made above"}},
      {"output %7 \"y\"", {"column 10", "a value made above"}},
      {"output %0 y", {"column 11", "expected \""}},
      {"output %0 \"y\" z", {"column 15", "the end of the line"}},
  };
}

TEST(GraphText, ErrorsNameLineAndColumn) {
  for (const BrokenText& broken : broken_lines()) {
    SCOPED_TRACE(broken.line);
    std::vector<std::string> parts = broken.parts;
    parts.push_back("graph text, line 3, column ");
    std::string text = std::string(kStart) + broken.line + "\n";
    EXPECT_TRUE(throws_error([&] { parse_graph(text); }, ErrorKind::BadData, parts));
  }
}

// Whatever is cut off: an error or a graph, nothing else.
TEST(GraphText, SurvivesTextCutShortAnywhere) {
  std::vector<std::string> texts = {kSmall};
  for (const SampleNode& sample : sample_nodes()) {
    texts.push_back(print_graph(build_sample(sample)));
  }
  for (const std::string& whole : texts) {
    for (size_t length = 0; length < whole.size(); ++length) {
      try {
        parse_graph(whole.substr(0, length));
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::BadData) << error.what();
      }
    }
  }
}

}  // namespace
}  // namespace pounce
