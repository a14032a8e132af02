// The reference's formulas, layout ops, reductions, layer normalisation and average pooling against
// answers worked out by hand, or by PyTorch 2.15 in double where that is said.
#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "autodiff/autodiff.h"
#include "backend/registry.h"
#include "backend/run_graph.h"

namespace pounce {
namespace {

using Numbers = std::vector<double>;
using Ints = std::vector<int64_t>;
using testing::ElementsAre;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

HostTensor f64(const Shape& shape, const Numbers& numbers) {
  return make_tensor({DType::F64, shape}, numbers);
}

struct Result {
  Numbers y;                   // of output 0
  std::vector<Numbers> grads;  // of the sum of cotangent * output 0, by input
};

// Without a cotangent, without gradients.
Result run_op(OpKind op, const std::vector<HostTensor>& tensors, const Attributes& attributes = {},
              const HostTensor* cotangent = nullptr) {
  Graph graph;
  std::vector<Value> values;
  Tensors inputs;
  auto add_input = [&](const std::string& name, const HostTensor& tensor) {
    inputs[name] = tensor;
    return graph.add_input(name, tensor.type);
  };
  for (const HostTensor& tensor : tensors) {
    values.push_back(add_input(fmt::format("input {}", values.size()), tensor));
  }
  Value y = graph.add(op, values, attributes)[0];
  graph.add_output("y", y);
  if (cotangent != nullptr) {
    Value weights = add_input("cotangent", *cotangent);
    std::vector<Value> grads = gradients(graph, {&y, 1}, {&weights, 1}, values);
    for (size_t i = 0; i < grads.size(); ++i) graph.add_output(fmt::format("{}", i), grads[i]);
  }
  Tensors outputs = run_graph(*make_backend("reference"), graph, inputs).outputs;
  Result result{numbers_of(outputs.at("y")), {}};
  for (size_t i = 0; cotangent != nullptr && i < values.size(); ++i) {
    result.grads.push_back(numbers_of(outputs.at(fmt::format("{}", i))));
  }
  return result;
}

void expect_near(const Numbers& found, const Numbers& expected, double tolerance = 1e-12) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], tolerance) << i;
}

struct UnaryGolden {
  OpKind op;
  Numbers y, grad;
};

// PyTorch at -4, -1, -0.25, 0, 0.5 and 3.
TEST(ReferenceUnary, AsPyTorch) {
  const UnaryGolden goldens[] = {
      {OpKind::Gelu,
       {-0.00012668496733248, -0.158655253931457, -0.100323418579269, 0.0, 0.345731230637007,
        2.99595030590511},
       {-0.000503649661226421, -0.0833154705876863, 0.304626645116364, 0.5, 0.867495124656163,
        1.01194564720418}},
      {OpKind::GeluTanh,
       {-7.02459481922713e-05, -0.158808009391723, -0.100324649298315, 0.0, 0.345714009825144,
        2.99636260791823},
       {-0.000335123197122187, -0.0829640838457825, 0.30464590484894, 0.5, 0.867369903534642,
        1.01158416663097}},
      {OpKind::HardSwish,
       {0, -1.0 / 3, -0.114583333333333, 0, 0.291666666666667, 3},
       {0, 1.0 / 6, 0.416666666666667, 0.5, 2.0 / 3, 1}},
      {OpKind::HardSigmoid,
       {0, 1.0 / 3, 0.458333333333333, 0.5, 0.583333333333333, 1},
       {0, 1.0 / 6, 1.0 / 6, 1.0 / 6, 1.0 / 6, 0}},
      {OpKind::Silu,
       {-0.0719448398483662, -0.268941421369995, -0.10945587477855, 0.0, 0.311229665600927,
        2.8577223804673},
       {-0.0526646148910729, 0.0723294881285133, 0.376289978429802, 0.5, 0.739961187302652,
        1.08810410601517}},
  };
  HostTensor x = f64({6}, {-4, -1, -0.25, 0, 0.5, 3}), ones = f64({6}, {1, 1, 1, 1, 1, 1});
  for (const UnaryGolden& golden : goldens) {
    SCOPED_TRACE(op_info(golden.op).name);
    Result found = run_op(golden.op, {x}, {}, &ones);
    expect_near(found.y, golden.y);
    expect_near(found.grads[0], golden.grad);
  }
}

TEST(ReferenceUnary, NanPassesThrough) {
  for (const OpInfo& info : op_table()) {
    if (info.formula.empty() || info.inputs.size() != 1) continue;
    EXPECT_TRUE(std::isnan(run_op(info.kind, {f64({1}, {kNan})}).y[0])) << info.name;
  }
  for (OpKind op : {OpKind::Max, OpKind::Min}) {
    HostTensor one = f64({1}, {1}), nan = f64({1}, {kNan});
    EXPECT_TRUE(std::isnan(run_op(op, {one, nan}).y[0]));
    EXPECT_TRUE(std::isnan(run_op(op, {nan, one}).y[0]));
  }
}

TEST(ReferenceArithmetic, BroadcastsAndSumsGradientsBack) {
  HostTensor a = f64({2, 1, 2}, {1, 2, 3, 4}), b = f64({3, 1}, {10, 20, 30});
  HostTensor weights = f64({2, 3, 2}, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2});
  Result found = run_op(OpKind::Mul, {a, b}, {}, &weights);
  EXPECT_THAT(found.y, ElementsAre(10, 20, 20, 40, 30, 60, 30, 40, 60, 80, 90, 120));
  EXPECT_THAT(found.grads[0], ElementsAre(60, 60, 60, 90));
  EXPECT_THAT(found.grads[1], ElementsAre(10, 10, 14));
}

TEST(ReferenceArithmetic, EqualsShareTheGradientOfAMaximum) {
  HostTensor a = f64({3}, {1, 2, 3}), two = f64({}, {2}), weights = f64({3}, {1, 10, 100});
  Result largest = run_op(OpKind::Max, {a, two}, {}, &weights);
  EXPECT_THAT(largest.y, ElementsAre(2, 2, 3));
  EXPECT_THAT(largest.grads[0], ElementsAre(0, 5, 100));
  EXPECT_THAT(largest.grads[1], ElementsAre(6));
  Result least = run_op(OpKind::Min, {a, two}, {}, &weights);
  EXPECT_THAT(least.y, ElementsAre(1, 2, 2));
  EXPECT_THAT(least.grads[0], ElementsAre(1, 5, 0));
  EXPECT_THAT(least.grads[1], ElementsAre(105));
}

TEST(ReferenceLayout, MovesElements) {
  HostTensor x = f64({2, 3}, {1, 2, 3, 4, 5, 6});
  const int64_t one = 1;
  EXPECT_THAT(run_op(OpKind::Transpose, {x}, {{"permutation", Ints{1, 0}}}).y,
              ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_THAT(run_op(OpKind::Slice, {x}, {{"axis", one}, {"start", one}, {"size", int64_t{2}}}).y,
              ElementsAre(2, 3, 5, 6));
  EXPECT_THAT(run_op(OpKind::Pad, {x}, {{"axis", one}, {"before", one}}).y,
              ElementsAre(0, 1, 2, 3, 0, 4, 5, 6));
  EXPECT_THAT(run_op(OpKind::Concat, {x, f64({2, 1}, {7, 8})}, {{"axis", one}}).y,
              ElementsAre(1, 2, 3, 7, 4, 5, 6, 8));
  EXPECT_THAT(run_op(OpKind::Broadcast, {f64({2, 1}, {1, 2})}, {{"shape", Ints{2, 2, 2}}}).y,
              ElementsAre(1, 1, 2, 2, 1, 1, 2, 2));
}

TEST(ReferenceLayout, ProductsOfEachPairOfMatrices) {
  HostTensor a = f64({2, 1, 2}, {1, 2, 3, 4}), b = f64({2, 1, 2}, {10, 1, 100, 1});
  EXPECT_THAT(run_op(OpKind::BatchMatMul, {a, b}, {{"transpose_b", int64_t{1}}}).y,
              ElementsAre(12, 304));
  EXPECT_THAT(run_op(OpKind::BatchMatMul, {a, b}, {{"transpose_a", int64_t{1}}}).y,
              ElementsAre(10, 1, 20, 2, 300, 3, 400, 4));
}

// Gradients: torch.amax.
TEST(ReferenceReduce, SumsMeansAndMaxima) {
  HostTensor x = f64({2, 3}, {1, 3, 3, 2, 0, 1}), weights = f64({2}, {1, 5});
  const Attributes rows = {{"axes", Ints{1}}};
  EXPECT_THAT(run_op(OpKind::ReduceSum, {x}, {{"axes", Ints{0}}}).y, ElementsAre(3, 3, 4));
  EXPECT_THAT(run_op(OpKind::ReduceMean, {x}, rows).y, ElementsAre(7.0 / 3, 1));
  Result largest = run_op(OpKind::ReduceMax, {x}, rows, &weights);
  EXPECT_THAT(largest.y, ElementsAre(3, 2));
  EXPECT_THAT(largest.grads[0], ElementsAre(0, 0.5, 0.5, 5, 0, 0));
  EXPECT_TRUE(
      std::isnan(run_op(OpKind::ReduceMax, {f64({3}, {1, kNan, 2})}, {{"axes", Ints{0}}}).y[0]));
}

const HostTensor kTwoRows = f64({2, 3}, {1, 2, 4, 0, -3, 5});

// PyTorch.
TEST(ReferenceSoftmax, AsPyTorch) {
  expect_near(run_op(OpKind::Softmax, {kTwoRows}).y,
              {0.042010066134066, 0.114195199384594, 0.843794734481339, 0.00669062149260911,
               0.00033310642967603, 0.992976272077715});
  expect_near(run_op(OpKind::LogSoftmax, {kTwoRows}).y,
              {-3.16984601955629, -2.16984601955629, -0.169846019556286, -5.00704851041106,
               -8.00704851041106, -0.00704851041106442});
  EXPECT_THAT(run_op(OpKind::Softmax, {f64({2}, {1e300, 1e300})}).y, ElementsAre(0.5, 0.5));
}

// PyTorch.
TEST(ReferenceLayerNorm, AsPyTorch) {
  HostTensor gamma = f64({3}, {2, 1, 0.5}), beta = f64({3}, {0, 1, -1});
  HostTensor weights = f64({2, 3}, {1, 2, 3, 4, 5, 7});
  Result found = run_op(OpKind::LayerNorm, {kTwoRows, gamma, beta}, {{"eps", 1e-5}}, &weights);
  expect_near(found.y, {-2.1380830629006, 0.732739617137425, -0.331849042843564, -0.404060832282789,
                        -0.111167288777671, -0.343401147540467});
  expect_near(found.grads[0], {-0.0572688548338258, 0.0859054298650088, -0.028636575031183,
                               0.705044969914032, -0.440652810495135, -0.264392159418897});
  expect_near(found.grads[1], {-1.87716319601588, -6.09035720961351, 13.2012896773721});
  expect_near(found.grads[2], {5, 7, 10});
}

// PyTorch.
TEST(ReferenceAvgPool, PaddingCountsOrNot) {
  HostTensor x = f64({1, 3, 3, 1}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  Attributes window = {{"kernel", Ints{2, 2}}, {"stride", Ints{2, 2}}, {"padding", Ints{1, 1}}};
  EXPECT_THAT(run_op(OpKind::AvgPool, {x}, window).y, ElementsAre(0.25, 1.25, 2.75, 7));
  window.set("count_include_pad", int64_t{0});
  EXPECT_THAT(run_op(OpKind::AvgPool, {x}, window).y, ElementsAre(1, 2.5, 5.5, 7));
}

}  // namespace
}  // namespace pounce
