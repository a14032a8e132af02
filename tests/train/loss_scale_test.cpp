// fp16 with its loss scale on the reference backend: what a skipped update leaves, how the scale
// moves, that nothing else depends on it.
#include <cmath>
#include <limits>
#include <map>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "backend/registry.h"
#include "base/random.h"
#include "train/step_runner.h"

namespace pounce {
namespace {

constexpr int64_t kSize = 8;
constexpr int64_t kClasses = 3;
constexpr int kBatch = 5;
// As a sample's weight: its gradients are finite in f32 and infinite in fp16.
constexpr float kOverflow = 1e6F;

using State = std::map<std::string, std::vector<uint8_t>>;

OpenDevice reference() {
  return {make_backend("reference"), "reference"};
}

StepSpec cnn_spec(OptimizerKind kind) {
  StepSpec spec;
  spec.network = [](Graph& graph, Value images, int64_t classes, bool training) {
    return build_network("cnn", graph, images, classes, training);
  };
  spec.classes = kClasses;
  spec.image_size = kSize;
  spec.optimizer.kind = kind;
  spec.optimizer.weight_decay = 0.01;
  spec.updates = 100;
  spec.precision = DType::F16;
  return spec;
}

// A runner on random images, started from seed 3.
class Training {
 public:
  explicit Training(const StepSpec& spec) : runner_(reference(), spec, {kBatch}, {}) {
    runner_.initialize(3, 1);
    std::vector<float> rates;
    for (int64_t i = 0; i < spec.updates; ++i) rates.push_back(0.01F / float(i + 1));
    runner_.set_learning_rates(rates);
    RandomStream random(5, RandomPurpose::Test, 0, 0);
    for (int64_t i = 0; i < kBatch * kSize * kSize * 3; ++i) {
      images_.push_back(uint8_t(random.below(256)));
    }
    for (int i = 0; i < kBatch; ++i) labels_.push_back(int32_t(random.below(kClasses)));
  }

  StepResult attempt(float weight = 1) {
    return runner_.train(images_, labels_, std::vector<float>(kBatch, weight));
  }

  StepRunner& runner() { return runner_; }
  Session& session() { return runner_.session(); }

  // Weights, moments, averages and the count of updates.
  State updated_state() {
    State state;
    for (const std::string& name : session().variable_names()) {
      bool is_forward = name.find("running_") != std::string::npos ||
                        name.find("num_batches") != std::string::npos;
      bool is_average = name.starts_with("ema.");
      bool is_of_scale = name == names::kLossScale || name == names::kScaleCounts;
      if ((is_forward && !is_average) || is_of_scale || name.starts_with("gradient.")) continue;
      state[name] = session().read_values<uint8_t>(name);
    }
    return state;
  }

  State statistics() {
    State state;
    for (const std::string& name : session().variable_names()) {
      if (name.find("running_") == std::string::npos || name.starts_with("ema.")) continue;
      state[name] = session().read_values<uint8_t>(name);
    }
    return state;
  }

 private:
  StepRunner runner_;
  std::vector<uint8_t> images_;
  std::vector<int32_t> labels_;
};

class LossScale : public testing::TestWithParam<OptimizerKind> {};

TEST_P(LossScale, AnOverflowSkipsOneUpdateAndHalvesTheScale) {
  StepSpec spec = cnn_spec(GetParam());
  spec.loss_scale.growth_interval = 4;
  spec.optimizer.clip_norm = 1;
  spec.optimizer.ema_decay = 0.9;
  Training training(spec);
  std::vector<float> scales;
  for (int attempt = 1; attempt <= 7; ++attempt) {
    scales.push_back(training.runner().loss_scale().scale);
    State before = training.updated_state();
    StepResult result = training.attempt(attempt == 3 ? kOverflow : 1.0F);
    for (float loss : result.losses) EXPECT_TRUE(std::isfinite(loss));
    EXPECT_EQ(training.updated_state() == before, attempt == 3) << attempt;
    EXPECT_EQ(training.runner().loss_scale().in_a_row, attempt == 3 ? 1 : 0);
    EXPECT_FALSE(training.runner().non_finite());
  }
  EXPECT_EQ(scales, (std::vector<float>{65536, 65536, 65536, 32768, 32768, 32768, 32768}));
  EXPECT_EQ(training.runner().loss_scale().scale, 65536);
  EXPECT_EQ(training.runner().loss_scale().skipped, 1);
  EXPECT_EQ(training.runner().applied_updates(), 6);
}

std::string optimizer_name(const testing::TestParamInfo<OptimizerKind>& row) {
  constexpr const char* kNames[] = {"adamw", "adam", "sgd"};
  return kNames[size_t(row.param)];
}

INSTANTIATE_TEST_SUITE_P(Optimizers, LossScale,
                         testing::Values(OptimizerKind::Sgd, OptimizerKind::Adam,
                                         OptimizerKind::AdamW),
                         optimizer_name);

// The seventh attempt is the sixth update: its rate is the sixth of the table. fc.bias is of the
// last layer, whose gradient is computed in f32.
TEST(LossScaleSchedule, CountsAppliedUpdates) {
  StepSpec spec = cnn_spec(OptimizerKind::Sgd);
  spec.optimizer.momentum = 0;
  spec.optimizer.weight_decay = 0;
  Training training(spec);
  for (int attempt = 1; attempt <= 6; ++attempt) training.attempt(attempt == 3 ? kOverflow : 1.0F);
  std::vector<float> before = training.session().read_values<float>("fc.bias");
  training.attempt();
  std::vector<float> after = training.session().read_values<float>("fc.bias");
  std::vector<float> gradient = training.session().read_values<float>("gradient.fc.bias");
  for (size_t i = 0; i < before.size(); ++i) {
    double step = 0.01 / 6 * double(gradient[i]) / (32768.0 * kBatch);
    EXPECT_NEAR(after[i], before[i] - step, 1e-7) << i;
  }
}

// Halving a start that is too high finds a scale that fits; every try is counted.
TEST(LossScaleStart, SettlesByHalving) {
  StepSpec spec = cnn_spec(OptimizerKind::Sgd);
  spec.loss_scale.start = 0x1p24F;
  Training training(spec);
  constexpr int kAttempts = 30;
  for (int attempt = 0; attempt < kAttempts; ++attempt) training.attempt(100);
  LossScaleState state = training.runner().loss_scale();
  EXPECT_GT(state.skipped, 0);
  EXPECT_LT(state.skipped, 20);
  EXPECT_EQ(state.scale, std::ldexp(1.0F, 24 - int(state.skipped)));
  EXPECT_EQ(state.in_a_row, 0);
  EXPECT_EQ(training.runner().applied_updates(), kAttempts - state.skipped);
  EXPECT_FALSE(training.runner().non_finite());
  for (float value : training.session().read_values<float>("fc.weight")) {
    EXPECT_TRUE(std::isfinite(value));
  }
}

// No lower scale is left: the flag that stops a run in fp32 stops this one.
TEST(LossScaleEnd, StopsAtTheLowest) {
  StepSpec spec = cnn_spec(OptimizerKind::Adam);
  spec.loss_scale.start = 0x1p-4F;
  Training training(spec);
  training.attempt(1e9F);
  EXPECT_FALSE(training.runner().non_finite());
  EXPECT_EQ(training.runner().loss_scale().scale, 0x1p-5F);
  State before = training.updated_state();
  before.erase(names::kStop);
  for (float weight : {1e9F, 1.0F}) {
    training.attempt(weight);
    ASSERT_TRUE(training.runner().non_finite());
    EXPECT_TRUE(training.runner().non_finite()->tensor.starts_with("the gradient of features."))
        << training.runner().non_finite()->tensor;
    State after = training.updated_state();
    after.erase(names::kStop);
    EXPECT_EQ(after, before);
  }
  EXPECT_EQ(training.runner().loss_scale().skipped, 1);
}

// A forward pass that overflows must not reach the running statistics: PyTorch's would be NaN.
TEST(HalfStatistics, KeepWhatAnOverflowWouldSpoil) {
  for (DType dtype : {DType::F16, DType::BF16}) {
    StepSpec spec = cnn_spec(OptimizerKind::Sgd);
    spec.precision = dtype;
    Training training(spec);
    State start = training.statistics();
    training.attempt();
    State before = training.statistics();
    EXPECT_NE(before, start);
    std::vector<float> weights = training.session().read_values<float>("features.3.weight");
    std::vector<float> large = weights;
    float factor = dtype == DType::F16 ? 1e7F : std::numeric_limits<float>::infinity();
    for (float& weight : large) weight *= factor;
    training.session().write("features.3.weight", bytes_of(large));
    training.attempt();
    ASSERT_TRUE(training.runner().non_finite()) << dtype_name(dtype);
    EXPECT_EQ(training.runner().non_finite()->tensor, "logits");
    EXPECT_EQ(training.statistics(), before);
  }
}

// A network of one parameter of two numbers: its update alone.
Network two_numbers(Graph& graph, Value images, int64_t, bool training) {
  Layers layers(graph, training);
  Value p = layers.parameter({.name = "p", .variable = {}, .type = {DType::F32, {2}}});
  int64_t batch = graph.shape(images)[0];
  Value logits = graph.add_one(OpKind::Broadcast, {p}, {{"shape", std::vector<int64_t>{batch, 2}}});
  return {logits, layers.take_state()};
}

TEST(LossScaleClip, UnscalesBeforeItClips) {
  StepSpec spec;
  spec.network = two_numbers;
  spec.optimizer = {.kind = OptimizerKind::Sgd, .momentum = 0, .clip_norm = 1};
  spec.precision = DType::F16;
  std::unique_ptr<Backend> backend = make_backend("reference");
  SingleProcess alone;
  SessionOptions options;
  options.passes.precision = DType::F16;
  std::vector<float> first;
  for (int exponent = -5; exponent <= 24; ++exponent) {
    SCOPED_TRACE(exponent);
    float scale = std::ldexp(1.0F, exponent), divisor = 1, rate = 1;
    Session session(*backend, alone, {{"update", build_update(spec)}}, options);
    session.write(names::kLossScale, std::as_bytes(std::span(&scale, 1)));
    session.write(names::kLearningRates, std::as_bytes(std::span(&rate, 1)));
    session.write("gradient.p", bytes_of(std::vector<float>{3 * scale, 4 * scale}));
    InputData input{names::kDivisor, std::as_bytes(std::span(&divisor, 1))};
    session.run("update", std::span(&input, 1));
    std::vector<float> p = session.read_values<float>("p");
    EXPECT_NEAR(p[0], -0.6, 1e-6);
    EXPECT_NEAR(p[1], -0.8, 1e-6);
    if (first.empty()) first = p;
    EXPECT_EQ(p, first) << "the same bits at every scale";
  }
}

// The squares of gradients that are finite need not be.
TEST(LossScaleClip, ANormThatOverflowsSkips) {
  StepSpec spec;
  spec.network = two_numbers;
  spec.optimizer = {.kind = OptimizerKind::Sgd, .momentum = 0, .clip_norm = 1};
  spec.precision = DType::F16;
  std::unique_ptr<Backend> backend = make_backend("reference");
  SingleProcess alone;
  Session session(*backend, alone, {{"update", build_update(spec)}});
  float scale = 1024, divisor = 1;
  session.write(names::kLossScale, std::as_bytes(std::span(&scale, 1)));
  session.write("gradient.p", bytes_of(std::vector<float>{1e30F, 0}));
  InputData input{names::kDivisor, std::as_bytes(std::span(&divisor, 1))};
  session.run("update", std::span(&input, 1));
  EXPECT_EQ(session.read_values<float>("p"), (std::vector<float>{0, 0}));
  EXPECT_EQ(session.read_values<int64_t>(names::kScaleCounts), (std::vector<int64_t>{0, 1, 1}));
}

// Accumulated in one micro-batch and then applied, or at once: not a bit differs, skipped or not.
TEST(LossScalePrograms, OfOneMicroBatchEqualTheFusedStep) {
  StepSpec spec = cnn_spec(OptimizerKind::Adam);
  SessionOptions options;
  options.passes.precision = DType::F16;
  options.check_plan = true;
  options.compile.poison = true;
  std::unique_ptr<Backend> backend = make_backend("reference");
  SingleProcess alone;
  Session fused(*backend, alone, {{"step", build_fused_step(spec, kBatch)}}, options);
  Session apart(*backend, alone,
                {{"accumulate", build_accumulate(spec, kBatch)}, {"update", build_update(spec)}},
                options);
  std::vector<float> rates(size_t(spec.updates), 0.01F), divisor(1, float(kBatch));
  for (Session* session : {&fused, &apart}) {
    for (const StateEntry& entry : network_state(spec)) {
      if (entry.type.dtype != DType::F32) continue;
      session->write(entry.name, bytes_of(initial_values(entry, 3)));
    }
    session->write(names::kLearningRates, bytes_of(rates));
    session->write(names::kLossScale, bytes_of(std::vector<float>{65536}));
  }
  std::vector<uint8_t> images;
  RandomStream random(5, RandomPurpose::Test, 0, 0);
  for (int64_t i = 0; i < kBatch * kSize * kSize * 3; ++i) {
    images.push_back(uint8_t(random.below(256)));
  }
  const std::vector<int32_t> labels = {0, 1, 2, 1, 0};
  for (float weight : {1.0F, kOverflow, 1.0F}) {
    std::vector<float> weights(kBatch, weight);
    std::vector<InputData> inputs = {{names::kImages, std::as_bytes(std::span(images))},
                                     {names::kLabels, bytes_of(labels)},
                                     {names::kSampleWeights, bytes_of(weights)}};
    apart.run("accumulate", inputs);
    inputs.push_back({names::kDivisor, bytes_of(divisor)});
    fused.run("step", inputs);
    InputData update{names::kDivisor, bytes_of(divisor)};
    apart.run("update", std::span(&update, 1));
  }
  EXPECT_EQ(fused.read_values<int64_t>(names::kUpdates).at(0), 2);
  for (const std::string& name : fused.variable_names()) {
    if (name.starts_with("gradient.")) continue;
    EXPECT_EQ(fused.read_values<uint8_t>(name), apart.read_values<uint8_t>(name)) << name;
  }
}

}  // namespace
}  // namespace pounce
