// Winograd's convolutions against the reference, which sums in double: over odd sizes, paddings and
// channel counts, with the errors of direct sums beside them.
#include <cstdio>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/registry.h"
#include "backend/run_graph.h"
#include "base/random.h"
#include "ir/conv_params.h"

namespace pounce {
namespace {

struct Layer {
  int64_t batch, height, width, channels, out_channels, pad_h, pad_w;

  int64_t out_height() const { return window_count(height, 3, 1, pad_h, 1); }
  int64_t out_width() const { return window_count(width, 3, 1, pad_w, 1); }
  std::string name() const {
    return fmt::format("{} of {} x {}, {} to {} channels, padding {},{}", batch, height, width,
                       channels, out_channels, pad_h, pad_w);
  }
};

// Sides that 4 and 2 divide or not, images smaller than a tile, channels that fill no vector, one
// row of tiles, more tiles than are summed at once.
constexpr Layer kOddLayers[] = {
    {2, 7, 5, 17, 20, 1, 1},   {1, 2, 2, 16, 16, 1, 1},  {3, 3, 9, 33, 16, 1, 1},
    {1, 8, 8, 16, 65, 0, 0},   {2, 6, 11, 40, 24, 2, 2}, {2, 13, 4, 31, 47, 0, 1},
    {1, 5, 6, 16, 19, 2, 1},   {1, 1, 40, 16, 16, 1, 1}, {3, 17, 3, 18, 100, 1, 2},
    {9, 24, 23, 16, 32, 1, 1}, {2, 4, 4, 130, 36, 1, 1}, {1, 10, 2, 64, 16, 1, 1},
};

// Those of ResNet-18 at 224 pixels, with fewer images.
constexpr Layer kNetworkLayers[] = {
    {2, 56, 56, 64, 64, 1, 1},
    {2, 28, 28, 128, 128, 1, 1},
    {4, 14, 14, 256, 256, 1, 1},
    {4, 7, 7, 512, 512, 1, 1},
};

constexpr OpKind kPasses[] = {OpKind::Conv2d, OpKind::Conv2dBwdData, OpKind::Conv2dBwdWeights};

HostTensor random_tensor(const Shape& shape, uint64_t seed) {
  RandomStream random(seed, RandomPurpose::Test, 0, 0);
  std::vector<double> numbers(size_t(shape.elements()));
  for (double& number : numbers) number = random.normal();
  return make_tensor({DType::F32, shape}, numbers);
}

struct Pass {
  Graph graph;
  Tensors operands;
};

Pass make_pass(const Layer& layer, OpKind op) {
  using Pair = std::vector<int64_t>;
  Attributes attributes = {{"padding", Pair{layer.pad_h, layer.pad_w}}};
  HostTensor x = random_tensor({layer.batch, layer.height, layer.width, layer.channels}, 1);
  HostTensor weights = random_tensor({layer.out_channels, 3, 3, layer.channels}, 2);
  HostTensor y =
      random_tensor({layer.batch, layer.out_height(), layer.out_width(), layer.out_channels}, 3);
  Pass pass;
  if (op == OpKind::Conv2d) pass.operands = {{"a", x}, {"b", weights}};
  if (op == OpKind::Conv2dBwdData) {
    attributes.set("height", layer.height);
    attributes.set("width", layer.width);
    pass.operands = {{"a", y}, {"b", weights}};
  }
  if (op == OpKind::Conv2dBwdWeights) {
    attributes.set("kernel", Pair{3, 3});
    pass.operands = {{"a", x}, {"b", y}};
  }
  std::vector<Value> values;
  for (const char* name : {"a", "b"}) {
    values.push_back(pass.graph.add_input(name, pass.operands.at(name).type));
  }
  pass.graph.add_output("y", pass.graph.add(op, values, attributes)[0]);
  return pass;
}

struct Found {
  std::string implementation;
  double error;
};

Found run(Backend& backend, const Pass& pass, const HostTensor& expected) {
  RunResult result = run_graph(backend, pass.graph, pass.operands);
  return {std::string(result.lowered.nodes.back().implementation),
          relative_error(result.outputs.at("y"), expected)};
}

void expect_small_errors(const Layer& layer, double bound) {
  std::unique_ptr<Backend> reference = make_backend("reference");
  std::unique_ptr<Backend> fastest = make_backend("cpu", {.threads = 2});
  std::unique_ptr<Backend> direct =
      make_backend("cpu", {.threads = 2, .direct_convolutions = true});
  for (OpKind op : kPasses) {
    Pass pass = make_pass(layer, op);
    HostTensor expected = run_graph(*reference, pass.graph, pass.operands).outputs.at("y");
    Found winograd = run(*fastest, pass, expected);
    Found other = run(*direct, pass, expected);
    EXPECT_EQ(winograd.implementation, "winograd") << layer.name();
    EXPECT_NE(other.implementation, "winograd") << layer.name();
    EXPECT_LE(winograd.error, bound) << layer.name() << ", " << op_info(op).name;
    std::printf("%s, %s: error %.1e, of %s %.1e\n", layer.name().c_str(),
                std::string(op_info(op).name).c_str(), winograd.error, other.implementation.c_str(),
                other.error);
  }
}

TEST(Winograd, AgreesWithTheReferenceOverOddSizes) {
  for (const Layer& layer : kOddLayers) expect_small_errors(layer, 5e-6);
}

TEST(Winograd, AgreesWithTheReferenceOverNetworksLayers) {
  for (const Layer& layer : kNetworkLayers) expect_small_errors(layer, 5e-6);
}

TEST(Winograd, RefusesWithReasons) {
  struct Refused {
    Shape x, weights;
    Attributes window;
    std::string reason;
  };
  using Pair = std::vector<int64_t>;
  const Refused cases[] = {
      {{1, 8, 8, 16}, {16, 5, 5, 16}, {}, "a window of 5 x 5, only 3 x 3 is served"},
      {{1, 8, 8, 16},
       {16, 3, 3, 16},
       {{"stride", Pair{2, 2}}},
       "stride [2,2], only [1,1] is served"},
      {{1, 8, 8, 16},
       {16, 3, 3, 16},
       {{"dilation", Pair{2, 2}}},
       "dilation [2,2], only [1,1] is served"},
      {{1, 8, 8, 32}, {32, 3, 3, 16}, {{"groups", int64_t{2}}}, "2 groups, only one is served"},
      {{1, 8, 8, 16},
       {16, 3, 3, 16},
       {{"padding", Pair{3, 1}}},
       "padding [3,1], at most 2 is served"},
      {{1, 8, 8, 3}, {64, 3, 3, 3}, {}, "3 to 64 channels, fewer than 16 gain nothing"},
      {{1, 3, 3, 16},
       {16, 3, 3, 16},
       {},
       "1 x 1 pixels would be padded to more work than the direct form"},
  };
  std::unique_ptr<Backend> backend = make_backend("cpu", {.threads = 1});
  for (const Refused& refused : cases) {
    Graph graph;
    Value x = graph.add_input("x", {DType::F32, refused.x});
    Value weights = graph.add_input("weights", {DType::F32, refused.weights});
    graph.add_output("y", graph.add(OpKind::Conv2d, {x, weights}, refused.window)[0]);
    LoweredNode node = backend->lower(graph, backend->target()).nodes.back();
    ASSERT_FALSE(node.refusals.empty()) << refused.reason;
    EXPECT_EQ(node.refusals[0].implementation, "winograd");
    EXPECT_EQ(node.refusals[0].reason, refused.reason);
  }
}

}  // namespace
}  // namespace pounce
