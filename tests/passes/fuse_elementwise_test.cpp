// Elementwise nodes become programs, of their own or of the op before them; where that would change
// what is kept or keep more memory alive, they stay.
#include <algorithm>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ir/text.h"
#include "passes/pass.h"

namespace pounce {
namespace {

std::string fused(const std::string& text, const PassOptions& options = {}) {
  return print_graph(fuse_elementwise(parse_graph(text), options));
}

void expect_unchanged(const std::string& text, const PassOptions& options = {}) {
  EXPECT_EQ(fused(text, options), text);
}

TEST(FuseElementwise, ChainsAndTreesBecomeOneNode) {
  EXPECT_EQ(fused("%0:f32[4] = input() \"x\"\n"
                  "%1:f32[4] = input() \"y\"\n"
                  "%2:f32[4] = add(%0, %1)\n"
                  "%3:f32[4] = tanh(%1)\n"
                  "%4:f32[4] = relu(%2) \"layer\"\n"
                  "%5:f32[4] = relu_bwd(%3, %4)\n"
                  "output %5 \"z\"\n"),
            "%0:f32[4] = input() \"x\"\n"
            "%1:f32[4] = input() \"y\"\n"
            "%2:f32[4] = fused(%0, %1) {program=\"add(0,1); tanh(1); relu(2); relu_bwd(3,4)\"} "
            "\"layer\"\n"
            "output %2 \"z\"\n");
}

TEST(FuseElementwise, ABiasIsAnAddition) {
  EXPECT_EQ(fused("%0:f32[4,3] = input() \"x\"\n"
                  "%1:f32[3] = input() \"bias\"\n"
                  "%2:f32[4,3] = bias_add(%0, %1)\n"
                  "%3:f32[4,3] = gelu(%2)\n"
                  "output %3 \"z\"\n"),
            "%0:f32[4,3] = input() \"x\"\n"
            "%1:f32[3] = input() \"bias\"\n"
            "%2:f32[4,3] = fused(%0, %1) {program=\"add(0,1); gelu(2)\"}\n"
            "output %2 \"z\"\n");
}

TEST(FuseElementwise, ValuesReadTwiceOrKeptStay) {
  expect_unchanged(
      "%0:f32[4] = input() \"x\"\n"
      "%1:f32[4] = tanh(%0)\n"
      "%2:f32[4] = relu(%1)\n"
      "%3:f32[4] = neg(%1)\n"
      "output %2 \"y\"\n"
      "output %3 \"z\"\n");
  expect_unchanged(
      "%0:f32[4] = input() \"x\"\n"
      "%1:f32[4] = tanh(%0)\n"
      "%2:f32[4] = relu(%1)\n"
      "output %1 \"y\"\n"
      "output %2 \"z\"\n");
  expect_unchanged(
      "%0:f32[4] = variable() {role=\"scalar\"} \"a\"\n"
      "%1:f32[4] = tanh(%0)\n"
      "%2:f32[4] = relu(%1)\n"
      "store %0 <- %1\n"
      "output %2 \"z\"\n");
}

TEST(FuseElementwise, ASmallerTensorIsNotComputedForEveryElement) {
  expect_unchanged(
      "%0:f32[3] = input() \"x\"\n"
      "%1:f32[4,3] = input() \"y\"\n"
      "%2:f32[3] = exp(%0)\n"
      "%3:f32[4,3] = mul(%1, %2)\n"
      "output %3 \"z\"\n");
}

// x and y would live until the end for one value that dies there.
TEST(FuseElementwise, NothingLivesLongerThanWhatIsSaved) {
  const std::string text =
      "%0:f32[4] = input() \"x\"\n"
      "%1:f32[4] = copy(%0)\n"
      "%2:f32[4] = copy(%0)\n"
      "%3:f32[4] = add(%1, %2)\n"
      "%4:f32[4] = softmax(%0)\n"
      "%5:f32[4] = mul(%4, %3)\n"
      "output %5 \"z\"\n";
  expect_unchanged(text);
  // One for one is no loss.
  std::string unary = text;
  unary.replace(unary.find("add(%1, %2)"), 11, "tanh(%1)");
  EXPECT_NE(fused(unary).find("fused"), std::string::npos);
  // Neither are two that live on anyway.
  EXPECT_NE(fused(text + "output %1 \"a\"\noutput %2 \"b\"\n").find("fused"), std::string::npos);
}

TEST(FuseElementwise, AStoredVariableIsNotReadLater) {
  expect_unchanged(
      "%0:f32[4] = variable() {role=\"scalar\"} \"a\"\n"
      "%1:f32[4] = tanh(%0)\n"
      "%2:f32[4] = softmax(%0)\n"
      "%3:f32[4] = add(%1, %2)\n"
      "store %0 <- %2\n"
      "output %3 \"z\"\n");
}

const std::string kNormLeaves =
    "%0:f32[8,3] = input() \"x\"\n"
    "%1:f32[8,3] = input() \"skip\"\n"
    "%2:f32[3] = input() \"a\"\n"
    "%3:f32[3] = input() \"b\"\n";

const std::string kResidual =
    kNormLeaves +
    "%4:f32[8,3], %5:f32[3], %6:f32[3], %7:f32[3], %8:f32[3] = batch_norm(%0, %2, %3, %2, %3) "
    "{eps=1e-05, momentum=0.1} \"bn\"\n"
    "%9:f32[8,3] = add(%4, %1)\n"
    "%10:f32[8,3] = relu(%9)\n"
    "output %10 \"z\"\n"
    "output %6 \"inv_std\"\n";

TEST(FuseElementwise, ContinuesABatchNorm) {
  EXPECT_EQ(fused(kResidual),
            kNormLeaves +
                "%4:f32[8,3], %5:f32[3], %6:f32[3], %7:f32[3], %8:f32[3] = "
                "batch_norm_fused(%0, %2, %3, %2, %3, %1) {eps=1e-05, momentum=0.1, "
                "program=\"add(0,1); relu(2)\"} \"bn\"\n"
                "output %4 \"z\"\n"
                "output %6 \"inv_std\"\n");
}

TEST(FuseElementwise, MakesOnlyWhatTheBackendHas) {
  auto without = [](std::vector<OpKind> missing) {
    PassOptions options;
    options.supports = [missing](const Graph&, const Node& node) {
      return std::count(missing.begin(), missing.end(), node.op) == 0;
    };
    return options;
  };
  EXPECT_NE(fused(kResidual, without({OpKind::BatchNormFused})).find("= fused(%4, %1)"),
            std::string::npos);
  expect_unchanged(kResidual, without({OpKind::BatchNormFused, OpKind::Fused}));
}

TEST(FuseElementwise, ContinuesTheNearestOfTwo) {
  const std::string twice =
      kNormLeaves +
      "%4:f32[8,3] = batch_norm_inference(%0, %2, %3, %2, %3) {eps=1e-05} \"first\"\n"
      "%5:f32[8,3] = batch_norm_inference(%1, %2, %3, %2, %3) {eps=1e-05} \"second\"\n"
      "%6:f32[8,3] = sub(%4, %5)\n"
      "output %6 \"z\"\n";
  EXPECT_EQ(fused(twice),
            kNormLeaves +
                "%4:f32[8,3] = batch_norm_inference(%0, %2, %3, %2, %3) {eps=1e-05} \"first\"\n"
                "%5:f32[8,3] = batch_norm_inference_fused(%1, %2, %3, %2, %3, %4) {eps=1e-05, "
                "program=\"sub(1,0)\"} \"second\"\n"
                "output %5 \"z\"\n");
}

TEST(FuseElementwise, StatisticsThatAreReadBetweenStayWhereTheyAre) {
  const std::string text =
      kNormLeaves +
      "%4:f32[8,3], %5:f32[3], %6:f32[3], %7:f32[3], %8:f32[3] = batch_norm(%0, %2, %3, %2, %3) "
      "{eps=1e-05, momentum=0.1} \"bn\"\n"
      "%9:f32[8,3] = bias_add(%4, %5)\n"
      "output %9 \"z\"\n";
  expect_unchanged(text);
}

TEST(FuseElementwise, ContinuesConvolutionsAndProducts) {
  EXPECT_EQ(
      fused("%0:f32[2,3] = input() \"x\"\n"
            "%1:f32[4,3] = input() \"w\"\n"
            "%2:f32[4] = input() \"b\"\n"
            "%3:f32[2,4] = matmul(%0, %1) {transpose_a=0, transpose_b=1, wide_output=0} \"fc\"\n"
            "%4:f32[2,4] = bias_add(%3, %2) \"fc\"\n"
            "%5:f32[2,4] = relu(%4)\n"
            "output %5 \"z\"\n"),
      "%0:f32[2,3] = input() \"x\"\n"
      "%1:f32[4,3] = input() \"w\"\n"
      "%2:f32[4] = input() \"b\"\n"
      "%3:f32[2,4] = matmul_fused(%0, %1, %2) {program=\"add(0,1); relu(2)\", "
      "transpose_a=0, transpose_b=1, wide_output=0} \"fc\"\n"
      "output %3 \"z\"\n");
  EXPECT_NE(fused("%0:f32[1,4,4,2] = input() \"x\"\n"
                  "%1:f32[2,1,1,2] = input() \"w\"\n"
                  "%2:f32[1,4,4,2] = conv2d(%0, %1)\n"
                  "%3:f32[1,4,4,2] = relu(%2)\n"
                  "output %3 \"z\"\n")
                .find("conv2d_fused(%0, %1)"),
            std::string::npos);
}

// A sum of gradients is computed in its variable's place.
TEST(FuseElementwise, ASumInAVariableStaysInPlace) {
  expect_unchanged(
      "%0:f32[3,3] = variable() {role=\"gradient\"} \"sum\"\n"
      "%1:f32[3,3] = input() \"x\"\n"
      "%2:f32[3,3] = matmul(%1, %1) {transpose_a=1, transpose_b=0, wide_output=0}\n"
      "%3:f32[3,3] = add(%0, %2)\n"
      "store %0 <- %3\n");
}

TEST(FuseElementwise, KeepsToTheBoundsOfAProgram) {
  std::string text = "%0:f32[4] = input() \"x\"\n";
  for (int i = 1; i <= 40; ++i) text += fmt::format("%{}:f32[4] = tanh(%{})\n", i, i - 1);
  Graph graph = fuse_elementwise(parse_graph(text + "output %40 \"y\"\n"));
  EXPECT_EQ(graph.nodes().size(), 4u);  // the input; 16, 16 and 8 steps
  text.clear();
  for (int i = 0; i < 12; ++i) text += fmt::format("%{}:f32[4] = input() \"x{}\"\n", i, i);
  text += "%12:f32[4] = add(%0, %1)\n";
  for (int i = 13; i < 23; ++i)
    text += fmt::format("%{}:f32[4] = add(%{}, %{})\n", i, i - 1, i - 11);
  graph = fuse_elementwise(parse_graph(text + "output %22 \"y\"\n"));
  EXPECT_EQ(graph.nodes().size(), 14u);  // 8 operands, then the rest
}

}  // namespace
}  // namespace pounce
