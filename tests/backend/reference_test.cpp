// The reference against answers worked out by hand, or by PyTorch 2.15 where that is said: every
// other kernel is tested against this one.
#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/op_cases.h"
#include "backend/registry.h"
#include "backend/run_graph.h"
#include "base/error.h"

namespace pounce {
namespace {

using Numbers = std::vector<double>;
using Pair = std::vector<int64_t>;
using testing::ElementsAre;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

HostTensor f64(const Shape& shape, const Numbers& numbers) {
  return make_tensor({DType::F64, shape}, numbers);
}

HostTensor f32(double number) {
  return make_tensor({DType::F32, {}}, Numbers{number});
}

HostTensor i32(const Numbers& numbers) {
  return make_tensor({DType::I32, {int64_t(numbers.size())}}, numbers);
}

HostTensor count(double number) {
  return make_tensor({DType::I64, {}}, Numbers{number});
}

HostTensor stop(double tag_plus_one, double index = 0) {
  return make_tensor({DType::I64, {2}}, Numbers{tag_plus_one, index});
}

// The outputs of one op, in the op table's order.
std::vector<Numbers> run_op(OpKind op, const std::vector<HostTensor>& tensors,
                            const Attributes& attributes = {}) {
  Graph graph;
  std::vector<Value> values;
  Tensors inputs;
  for (const HostTensor& tensor : tensors) {
    std::string name = fmt::format("input {}", values.size());
    values.push_back(graph.add_input(name, tensor.type));
    inputs[name] = tensor;
  }
  std::vector<Value> outputs = graph.add(op, values, attributes);
  for (Value value : outputs) graph.add_output(fmt::format("output {}", value.id), value);
  std::unique_ptr<Backend> backend = make_backend("reference");
  RunResult result = run_graph(*backend, graph, inputs);
  std::vector<Numbers> numbers;
  for (Value value : outputs) {
    numbers.push_back(numbers_of(result.outputs.at(fmt::format("output {}", value.id))));
  }
  return numbers;
}

void expect_near(const Numbers& found, const Numbers& expected, double tolerance = 1e-12) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], tolerance) << i;
}

const HostTensor kNineNumbers = f64({1, 3, 3, 1}, {1, 2, 3, 4, 5, 6, 7, 8, 9});

TEST(ReferenceConv, StrideOneNoPadding) {
  HostTensor weights = f64({1, 2, 2, 1}, {1, 2, 3, 4});
  EXPECT_THAT(run_op(OpKind::Conv2d, {kNineNumbers, weights})[0], ElementsAre(37, 47, 67, 77));
}

TEST(ReferenceConv, StrideTwoWithPadding) {
  HostTensor weights = f64({1, 2, 2, 1}, {1, 2, 3, 4});
  Attributes window = {{"stride", Pair{2, 2}}, {"padding", Pair{1, 1}}};
  EXPECT_THAT(run_op(OpKind::Conv2d, {kNineNumbers, weights}, window)[0],
              ElementsAre(4, 18, 36, 77));
}

TEST(ReferenceConv, DilationSkipsPixels) {
  HostTensor weights = f64({1, 2, 2, 1}, {1, 1, 1, 1});
  EXPECT_THAT(run_op(OpKind::Conv2d, {kNineNumbers, weights}, {{"dilation", Pair{2, 2}}})[0],
              ElementsAre(1 + 3 + 7 + 9));
}

TEST(ReferenceConv, GroupsSeeTheirOwnChannels) {
  HostTensor x = f64({1, 1, 1, 4}, {1, 2, 3, 4});
  HostTensor weights = f64({2, 1, 1, 2}, {10, 1, 10, 1});
  EXPECT_THAT(run_op(OpKind::Conv2d, {x, weights}, {{"groups", int64_t{2}}})[0],
              ElementsAre(12, 34));
}

TEST(ReferenceMatMul, ReadsEitherSideTransposed) {
  HostTensor a = f64({2, 3}, {1, 2, 3, 4, 5, 6}), a_t = f64({3, 2}, {1, 4, 2, 5, 3, 6});
  HostTensor b = f64({3, 1}, {1, 10, 100}), b_t = f64({1, 3}, {1, 10, 100});
  const int64_t yes = 1;
  EXPECT_THAT(run_op(OpKind::MatMul, {a, b})[0], ElementsAre(321, 654));
  EXPECT_THAT(run_op(OpKind::MatMul, {a_t, b}, {{"transpose_a", yes}})[0], ElementsAre(321, 654));
  EXPECT_THAT(run_op(OpKind::MatMul, {a, b_t}, {{"transpose_b", yes}})[0], ElementsAre(321, 654));
}

TEST(ReferenceElementwise, NanPassesThroughRelu) {
  Numbers y = run_op(OpKind::Relu, {f64({4}, {-1, 0, 2, kNan})})[0];
  EXPECT_THAT(Numbers(y.begin(), y.begin() + 3), ElementsAre(0, 0, 2));
  EXPECT_TRUE(std::isnan(y[3]));
}

TEST(ReferenceBatchNorm, RunningVarianceIsUnbiased) {
  std::vector<Numbers> y = run_op(
      OpKind::BatchNorm,
      {f64({4, 1}, {1, 2, 3, 6}), f64({1}, {2}), f64({1}, {1}), f64({1}, {10}), f64({1}, {1})},
      {{"eps", 0.5}, {"momentum", 0.1}});
  expect_near(y[0], {-1, 0, 1, 4});
  expect_near(y[1], {3});
  expect_near(y[2], {0.5});
  expect_near(y[3], {9.3});
  expect_near(y[4], {0.9 + 0.1 * 14 / 3});
}

TEST(ReferenceBatchNorm, KeepsTheVarianceOfLargeMeans) {
  // In f32, mean of squares less square of mean would lose every digit.
  TensorType type = {DType::F32, {4, 1}}, channel = {DType::F32, {1}};
  auto one = [&](double number) { return make_tensor(channel, Numbers{number}); };
  HostTensor x = make_tensor(type, Numbers{10000, 10001, 10002, 10005});
  std::vector<Numbers> y =
      run_op(OpKind::BatchNorm, {x, one(2), one(1), one(0), one(1)}, {{"eps", 0.5}});
  expect_near(y[0], {-1, 0, 1, 4}, 1e-6);
}

TEST(ReferenceBatchNorm, InferenceUsesGivenStatistics) {
  std::vector<Numbers> y = run_op(OpKind::BatchNormInference,
                                  {f64({2, 2}, {1, 10, 3, 30}), f64({2}, {2, 1}), f64({2}, {1, 0}),
                                   f64({2}, {1, 10}), f64({2}, {3, 99})},
                                  {{"eps", 1.0}});
  expect_near(y[0], {1, 0, 3, 2});
}

TEST(ReferenceMaxPool, FirstOfEqualsWinsAndPaddingNever) {
  Attributes window = {{"kernel", Pair{2, 2}}, {"stride", Pair{2, 2}}, {"padding", Pair{1, 1}}};
  std::vector<Numbers> y = run_op(OpKind::MaxPool, {f64({1, 2, 2, 1}, {-5, -6, -7, -7})}, window);
  EXPECT_THAT(y[0], ElementsAre(-5, -6, -7, -7));
  EXPECT_THAT(y[1], ElementsAre(3, 2, 1, 0));
  y = run_op(OpKind::MaxPool, {f64({1, 2, 2, 1}, {1, 4, 4, 4})},
             {{"kernel", Pair{2, 2}}, {"stride", Pair{2, 2}}});
  EXPECT_THAT(y[1], ElementsAre(1));
}

TEST(ReferenceMaxPool, NanBeatsEveryNumber) {
  Attributes window = {{"kernel", Pair{1, 2}}, {"stride", Pair{1, 1}}};
  std::vector<Numbers> y =
      run_op(OpKind::MaxPool, {f64({1, 1, 4, 1}, {1, kNan, kInf, -kInf})}, window);
  EXPECT_TRUE(std::isnan(y[0][0]));
  EXPECT_TRUE(std::isnan(y[0][1]));
  EXPECT_EQ(y[0][2], kInf);
  EXPECT_THAT(y[1], ElementsAre(1, 0, 0));
  // A window without any number above minus infinity still has a place inside the image.
  y = run_op(OpKind::MaxPool, {f64({1, 1, 1, 1}, {-kInf})},
             {{"kernel", Pair{3, 3}}, {"stride", Pair{1, 1}}, {"padding", Pair{1, 1}}});
  EXPECT_THAT(y[1], ElementsAre(4));
}

TEST(ReferenceMaxPool, OverlappingWindowsAddTheirGradients) {
  Attributes window = {{"kernel", Pair{1, 2}},
                       {"stride", Pair{1, 1}},
                       {"height", int64_t{1}},
                       {"width", int64_t{3}}};
  HostTensor position = make_tensor({DType::U8, {1, 1, 2, 1}}, Numbers{1, 0});
  std::vector<Numbers> y =
      run_op(OpKind::MaxPoolBwd, {f64({1, 1, 2, 1}, {10, 1}), position}, window);
  EXPECT_THAT(y[0], ElementsAre(0, 11, 0));
}

TEST(ReferenceImage, NormalisesByChannel) {
  HostTensor images = make_tensor({DType::U8, {1, 1, 2, 2}}, Numbers{0, 255, 51, 102});
  std::vector<Numbers> y = run_op(OpKind::NormalizeImage, {images},
                                  {{"mean", Numbers{0, 0.5}}, {"std", Numbers{0.1, 0.25}}});
  expect_near(y[0], {0, 2, 2, -0.4}, 1e-7);
}

TEST(ReferenceOneHot, SmoothingIsSpreadOverAllClasses) {
  Attributes attributes = {{"classes", int64_t{4}}, {"smoothing", 0.1}};
  expect_near(run_op(OpKind::OneHot, {i32({2})}, attributes)[0], {0.025, 0.025, 0.925, 0.025},
              1e-7);
  EXPECT_THROW(run_op(OpKind::OneHot, {i32({4})}, attributes), Error);
  EXPECT_THROW(run_op(OpKind::OneHot, {i32({-1})}, attributes), Error);
}

TEST(ReferenceCrossEntropy, WeighsSamplesAndStaysFinite) {
  HostTensor logits = f64({2, 2}, {0, std::log(3.0), 1e4, 1e4});
  HostTensor targets = f64({2, 2}, {1, 0, 0.5, 0.5});
  HostTensor weights = f64({2}, {2, 1});
  expect_near(run_op(OpKind::CrossEntropy, {logits, targets, weights})[0],
              {2 * std::log(4.0), std::log(2.0)});
  expect_near(run_op(OpKind::CrossEntropyBwd, {f64({2}, {1, 10}), logits, targets, weights})[0],
              {-1.5, 1.5, 0, 0});
}

TEST(ReferenceCrossEntropy, TargetsNeedNotSumToOne) {
  HostTensor logits = f64({1, 2}, {0, 0}), targets = f64({1, 2}, {3, 1}), one = f64({1}, {1});
  expect_near(run_op(OpKind::CrossEntropy, {logits, targets, one})[0], {4 * std::log(2.0)});
  expect_near(run_op(OpKind::CrossEntropyBwd, {one, logits, targets, one})[0], {-1, 1});
}

TEST(ReferenceTargetRank, TiesGoToTheLowerIndex) {
  HostTensor logits = f64({4, 3}, {5, 5, 5, 5, 5, 5, 1, 2, 3, 1, kNan, 3});
  EXPECT_THAT(run_op(OpKind::TargetRank, {logits, i32({0, 2, 0, 2})})[0], ElementsAre(0, 2, 2, 3));
  EXPECT_THROW(run_op(OpKind::TargetRank, {logits, i32({0, 3, 0, 2})}), Error);
}

TEST(ReferenceCheckFinite, TheFirstFindingStays) {
  HostTensor bad = f64({4}, {1, 2, kNan, kInf}), good = f64({4}, {1, 2, 3, 4});
  Attributes tag = {{"tag", int64_t{6}}};
  EXPECT_THAT(run_op(OpKind::CheckFinite, {good, stop(0)}, tag)[0], ElementsAre(0, 0));
  EXPECT_THAT(run_op(OpKind::CheckFinite, {bad, stop(0)}, tag)[0], ElementsAre(7, 2));
  EXPECT_THAT(run_op(OpKind::CheckFinite, {bad, stop(1, 9)}, tag)[0], ElementsAre(1, 9));
  EXPECT_THAT(run_op(OpKind::CheckFinite, {good, stop(1, 9)}, tag)[0], ElementsAre(1, 9));
}

TEST(ReferenceControl, CountsAndLooksUp) {
  EXPECT_THAT(run_op(OpKind::Increment, {count(41), stop(0)})[0], ElementsAre(42));
  EXPECT_THAT(run_op(OpKind::Increment, {count(41), stop(1)})[0], ElementsAre(41));
  HostTensor table = f64({3}, {0.1, 0.2, 0.3});
  EXPECT_THAT(run_op(OpKind::Lookup, {table, count(1)})[0], ElementsAre(0.2));
  EXPECT_THAT(run_op(OpKind::Lookup, {table, count(3)})[0], ElementsAre(0.3));
}

TEST(ReferenceSgd, PlainAndNesterov) {
  // g = 8 / 4 + 0.5 * 1; velocity = 0.5 * 1 + g = 3; a quarter of 3, or of g + 0.5 * 3, is taken.
  std::vector<HostTensor> inputs = {f64({1}, {1}), f64({1}, {8}), f64({1}, {1}),
                                    f32(0.25),     f32(4),        stop(0)};
  Attributes attributes = {{"momentum", 0.5}, {"weight_decay", 0.5}};
  std::vector<Numbers> y = run_op(OpKind::Sgd, inputs, attributes);
  EXPECT_THAT(y[0], ElementsAre(0.25));
  EXPECT_THAT(y[1], ElementsAre(3));
  attributes.set("nesterov", int64_t{1});
  y = run_op(OpKind::Sgd, inputs, attributes);
  EXPECT_THAT(y[0], ElementsAre(0));
  EXPECT_THAT(y[1], ElementsAre(3));
  inputs[5] = stop(1);
  y = run_op(OpKind::Sgd, inputs, attributes);
  EXPECT_THAT(y[0], ElementsAre(1));
  EXPECT_THAT(y[1], ElementsAre(1));
}

TEST(ReferenceClip, TheDivisorScalesTheMeanGradientToTheLimit) {
  // Sums (12, 16) over 4 samples: mean (3, 4) of norm 5.
  std::vector<HostTensor> inputs = {f64({2}, {12, 16}), f32(0)};
  Numbers squares = run_op(OpKind::SumSquares, inputs)[0];
  EXPECT_THAT(squares, ElementsAre(400));
  inputs = {f32(4), f32(400)};
  double divisor = run_op(OpKind::ClipDivisor, inputs, {{"max_norm", 1.0}})[0][0];
  EXPECT_NEAR(12 / divisor, 0.6, 1e-6);
  EXPECT_NEAR(16 / divisor, 0.8, 1e-6);
  EXPECT_THAT(run_op(OpKind::ClipDivisor, inputs, {{"max_norm", 10.0}})[0], ElementsAre(4));
}

TEST(ReferenceMovingAverage, MovesFastAtFirstAndStopsWithTheFlag) {
  std::vector<HostTensor> inputs = {f64({1}, {1}), f64({1}, {11}), count(0), stop(0)};
  const Attributes attributes = {{"decay", 0.75}};
  // Before the first update: a tenth of the average, nine tenths of x.
  EXPECT_THAT(run_op(OpKind::MovingAverage, inputs, attributes)[0],
              ElementsAre(testing::DoubleNear(10, 1e-12)));
  inputs[2] = count(1000);
  EXPECT_THAT(run_op(OpKind::MovingAverage, inputs, attributes)[0], ElementsAre(3.5));
  inputs[3] = stop(2);
  EXPECT_THAT(run_op(OpKind::MovingAverage, inputs, attributes)[0], ElementsAre(1));
}

// Parameters after each of two updates of {1, -2} by the gradients {2, 0.5} and {1, -1}, which
// arrive as sums over two samples; learning rate 0.125.
std::vector<Numbers> two_adam_steps(const Attributes& attributes) {
  std::vector<Numbers> state = {{1, -2}, {0, 0}, {0, 0}}, history;
  const Numbers gradient_sums[] = {{4, 1}, {2, -2}};
  for (double updates : {0, 1}) {
    state =
        run_op(OpKind::Adam,
               {f64({2}, state[0]), f64({2}, gradient_sums[size_t(updates)]), f64({2}, state[1]),
                f64({2}, state[2]), f32(0.125), count(updates), f32(2), stop(0)},
               attributes);
    history.push_back(state[0]);
  }
  return history;
}

// Expected numbers: torch.optim.Adam and AdamW of PyTorch 2.15 in double.
TEST(ReferenceAdam, TwoSteps) {
  std::vector<Numbers> steps = two_adam_steps({});
  expect_near(steps[0], {0.875000000625, -2.1249999975});
  expect_near(steps[1], {0.758477546510638, -2.079237057199293});
}

TEST(ReferenceAdam, DecayJoinsTheGradient) {
  std::vector<Numbers> steps = two_adam_steps({{"weight_decay", 0.5}});
  expect_near(steps[0], {0.8750000005, -1.8750000025});
  expect_near(steps[1], {0.756015541254708, -1.764011550256869});
}

TEST(ReferenceAdam, DecoupledDecayIsAdamW) {
  std::vector<Numbers> steps = two_adam_steps({{"weight_decay", 0.5}, {"decoupled", int64_t{1}}});
  expect_near(steps[0], {0.812500000625, -1.9999999975});
  expect_near(steps[1], {0.645196296471576, -1.829237057355543});
}

TEST(ReferenceAdam, KeepsEverythingWhenStopped) {
  std::vector<Numbers> y =
      run_op(OpKind::Adam, {f64({1}, {1}), f64({1}, {kNan}), f64({1}, {2}), f64({1}, {3}), f32(0.1),
                            count(5), f32(1), stop(1)});
  EXPECT_THAT(y[0], ElementsAre(1));
  EXPECT_THAT(y[1], ElementsAre(2));
  EXPECT_THAT(y[2], ElementsAre(3));
}

struct ScaleRow {
  double scale;
  Numbers counts;  // good, skipped, in a row
  double overflow, stopped;
  double next_scale;
  Numbers next_counts;
  double next_stop, hold;
};

TEST(ReferenceLossScale, HalvesDoublesAndStops) {
  constexpr double kMost = 0x1p24, kLeast = 0x1p-5;
  for (const ScaleRow& row : {
           ScaleRow{1024, {2, 1, 1}, 0, 0, 1024, {3, 1, 0}, 0, 0},
           {1024, {3, 1, 0}, 0, 0, 2048, {0, 1, 0}, 0, 0},    // the fourth in a row
           {kMost, {3, 1, 0}, 0, 0, kMost, {0, 1, 0}, 0, 0},  // no higher
           {1024, {3, 1, 2}, 7, 0, 512, {0, 2, 3}, 0, 7},     // skipped
           {2 * kLeast, {0, 0, 0}, 7, 0, kLeast, {0, 1, 1}, 0, 7},
           {kLeast, {0, 5, 5}, 7, 0, kLeast, {0, 5, 5}, 7, 7},  // no lower: stopped
           {1024, {3, 1, 2}, 7, 9, 1024, {3, 1, 2}, 9, 9},      // all is kept
           {1024, {3, 1, 2}, 0, 9, 1024, {3, 1, 2}, 9, 9},
       }) {
    HostTensor counts = make_tensor({DType::I64, {3}}, row.counts);
    std::vector<Numbers> y =
        run_op(OpKind::LossScale, {f32(row.scale), counts, stop(row.overflow), stop(row.stopped)},
               {{"growth_interval", int64_t{4}}});
    EXPECT_EQ(y[0][0], row.next_scale);
    EXPECT_EQ(y[1], row.next_counts);
    EXPECT_EQ(y[2][0], row.next_stop);
    EXPECT_EQ(y[3][0], row.hold);
  }
}

TEST(ReferenceSelect, TakesOneOrTheOther) {
  HostTensor set = f64({2}, {1, 2}), clear = f64({2}, {3, 4});
  EXPECT_THAT(run_op(OpKind::Select, {stop(5), set, clear})[0], ElementsAre(1, 2));
  EXPECT_THAT(run_op(OpKind::Select, {stop(0), set, clear})[0], ElementsAre(3, 4));
}

TEST(ReferenceLargestMagnitude, NanBeatsEveryNumber) {
  auto largest = [](const Numbers& numbers) {
    return run_op(OpKind::LargestMagnitude, {f64({int64_t(numbers.size())}, numbers)})[0][0];
  };
  EXPECT_EQ(largest({1, -3, 2}), 3);
  EXPECT_EQ(largest({}), 0);
  EXPECT_EQ(largest({1, -kInf, 2}), kInf);
  EXPECT_TRUE(std::isnan(largest({1, kNan, kInf})));
}

TEST(Reference, SingleAndDoublePrecisionAgree) {
  std::unique_ptr<Backend> backend = make_backend("reference");
  for (const OpCase& op_case : op_cases()) {
    SCOPED_TRACE(op_case.name);
    Tensors single =
        run_graph(*backend, build_case(op_case, DType::F32), case_inputs(op_case, DType::F32))
            .outputs;
    Tensors twice =
        run_graph(*backend, build_case(op_case, DType::F64), case_inputs(op_case, DType::F64))
            .outputs;
    for (auto& [name, expected] : twice) {
      bool exact = !is_floating(expected.type.dtype);
      EXPECT_LE(relative_error(single.at(name), expected), exact ? 0 : op_case.tolerance) << name;
    }
  }
}

TEST(Reference, RunsInPlaceAsItDoesApart) {
  std::unique_ptr<Backend> backend = make_backend("reference");
  int in_place = 0;
  for (const OpCase& op_case : op_cases()) {
    SCOPED_TRACE(op_case.name);
    Graph graph = build_case(op_case, DType::F32, true);
    Tensors inputs = case_inputs(op_case, DType::F32);
    RunResult planned = run_graph(*backend, graph, inputs);
    RunResult apart = run_graph(*backend, graph, inputs, {}, {.reuse = false, .poison = false});
    EXPECT_EQ(planned.outputs, apart.outputs);
    const Node& node = graph.nodes().back();
    for (const Alias& alias : in_place_of(node)) {
      in_place += planned.plan.values[size_t(node.outputs[size_t(alias.output)].id)] ==
                  planned.plan.values[size_t(node.inputs[size_t(alias.input)].id)];
    }
  }
  EXPECT_GT(in_place, 50) << "the planner should have put outputs over dying inputs";
}

}  // namespace
}  // namespace pounce
