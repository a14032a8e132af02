// What a step does to the state: accumulation against the whole batch, the stop flag, and sums over
// ranks.
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "backend/registry.h"
#include "base/random.h"
#include "engine/session.h"
#include "train/step.h"

namespace pounce {
namespace {

constexpr int64_t kSize = 8;
constexpr int64_t kClasses = 3;

// Convolution, ReLU, pooling, linear: nothing couples the samples of a batch.
Network tiny_network(Graph& graph, Value images, int64_t classes, bool training) {
  Layers layers(graph, training);
  Value x = layers.relu(layers.conv("conv", images, 6, {.kernel = 3, .stride = 1, .padding = 1}));
  x = layers.max_pool(x, {.kernel = 2, .stride = 2, .padding = 0});
  Value logits = layers.linear("fc", layers.global_avg_pool(x), classes);
  return {logits, layers.take_state()};
}

StepSpec tiny_spec(OptimizerKind kind) {
  StepSpec spec;
  spec.network = tiny_network;
  spec.classes = kClasses;
  spec.image_size = kSize;
  spec.optimizer.kind = kind;
  spec.optimizer.weight_decay = 0.01;
  spec.updates = 10;
  return spec;
}

StepSpec cnn_spec(OptimizerKind kind) {
  StepSpec spec = tiny_spec(kind);
  spec.network = [](Graph& graph, Value images, int64_t classes, bool training) {
    return build_network("cnn", graph, images, classes, training);
  };
  return spec;
}

// Counts its calls and acts as `world` ranks with equal gradients.
class CountingCommunicator final : public Communicator {
 public:
  explicit CountingCommunicator(int world) : world_(world) {}
  int rank() const override { return 0; }
  int world() const override { return world_; }
  void all_reduce_sum(void* data, int64_t elements, DType dtype) override {
    ASSERT_EQ(dtype, DType::F32);
    for (int64_t i = 0; i < elements; ++i) static_cast<float*>(data)[i] *= float(world_);
    sizes.push_back(elements);
  }

  std::vector<int64_t> sizes;

 private:
  int world_;
};

struct Batch {
  std::vector<uint8_t> images;
  std::vector<int32_t> labels;

  explicit Batch(int64_t size) {
    RandomStream random(5, RandomPurpose::Test, 0, 0);
    for (int64_t i = 0; i < size * kSize * kSize * 3; ++i) {
      images.push_back(uint8_t(random.below(256)));
    }
    for (int64_t i = 0; i < size; ++i) labels.push_back(int32_t(random.below(kClasses)));
  }
};

// A session and the programs of a step spec, started from seed 3 with a rate of 0.01.
class Training {
 public:
  Training(std::string_view backend, const StepSpec& spec, const std::vector<NamedGraph>& programs,
           Communicator* communicator = nullptr)
      : backend_(make_backend(backend)),
        session_(*backend_, communicator ? *communicator : alone_, programs, checked()) {
    for (const StateEntry& entry : network_state(spec)) {
      if (entry.type.dtype == DType::F32 && session_.has_variable(entry.name)) {
        session_.write(entry.name, bytes_of(initial_values(entry, 3)));
      }
    }
    session_.write(names::kLearningRates,
                   bytes_of(std::vector<float>(size_t(spec.updates), 0.01f)));
  }

  // Samples [first, first + count) of the batch; a fused step where `divisor` is given.
  void run(const std::string& program, const Batch& batch, size_t first, size_t count,
           float divisor = 0) {
    constexpr size_t kPixels = size_t(kSize * kSize * 3);
    std::vector<float> weights(count, 1), divisors(1, divisor);
    std::vector<InputData> inputs = {
        {names::kImages,
         std::as_bytes(std::span(batch.images).subspan(first * kPixels, count * kPixels))},
        {names::kLabels, std::as_bytes(std::span(batch.labels).subspan(first, count))},
        {names::kSampleWeights, bytes_of(weights)}};
    if (divisor > 0) inputs.push_back({names::kDivisor, bytes_of(divisors)});
    session_.run(program, inputs);
  }
  void update(float divisor) {
    std::vector<float> divisors(1, divisor);
    InputData input{names::kDivisor, bytes_of(divisors)};
    session_.run("update", {&input, 1});
  }

  Session& session() { return session_; }

  // Parameters, moments and the count of updates, by name.
  std::map<std::string, std::vector<uint8_t>> updated_state() {
    std::map<std::string, std::vector<uint8_t>> state;
    for (const std::string& name : session_.variable_names()) {
      bool statistic = name.find("running_") != std::string::npos;
      if (name == names::kStop || name.starts_with("gradient.") || statistic) continue;
      state[name] = session_.read_values<uint8_t>(name);
    }
    return state;
  }

 private:
  static SessionOptions checked() {
    SessionOptions options;
    options.check_plan = true;
    options.compile.poison = true;
    return options;
  }

  std::unique_ptr<Backend> backend_;
  SingleProcess alone_;
  Session session_;
};

double relative_difference(const std::vector<float>& a, const std::vector<float>& b) {
  double difference = 0, norm = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    difference += std::pow(double(a[i]) - b[i], 2);
    norm += double(b[i]) * b[i];
  }
  return std::sqrt(difference) / std::max(std::sqrt(norm), 1e-30);
}

struct Row {
  const char* backend;
  OptimizerKind optimizer;
};

std::string update_name(const testing::TestParamInfo<Row>& row) {
  constexpr const char* kNames[] = {"adamw", "adam", "sgd"};
  return fmt::format("{}_{}", row.param.backend, kNames[size_t(row.param.optimizer)]);
}

class Updates : public testing::TestWithParam<Row> {};

TEST_P(Updates, OfTwoMicroBatchesEqualTheWholeBatch) {
  StepSpec spec = tiny_spec(GetParam().optimizer);
  Batch batch(7);
  Training whole(GetParam().backend, spec, {{"step", build_fused_step(spec, 7)}});
  Training parts(GetParam().backend, spec,
                 {{"four", build_accumulate(spec, 4)},
                  {"three", build_accumulate(spec, 3)},
                  {"update", build_update(spec)}});
  for (int step = 0; step < 3; ++step) {
    whole.run("step", batch, 0, 7, 7);
    parts.run("four", batch, 0, 4);
    parts.run("three", batch, 4, 3);
    if (step == 0) {
      for (const StateEntry& entry : network_state(spec)) {
        std::string gradient = "gradient." + entry.name;
        EXPECT_LE(relative_difference(parts.session().read_values<float>(gradient),
                                      whole.session().read_values<float>(gradient)),
                  1e-6)
            << gradient;
      }
    }
    parts.update(7);
  }
  for (const StateEntry& entry : network_state(spec)) {
    EXPECT_LE(relative_difference(parts.session().read_values<float>(entry.name),
                                  whole.session().read_values<float>(entry.name)),
              1e-6)
        << entry.name;
    std::vector<float> cleared = parts.session().read_values<float>("gradient." + entry.name);
    EXPECT_EQ(cleared, std::vector<float>(cleared.size(), 0));
  }
  EXPECT_EQ(parts.session().read_values<int64_t>(names::kUpdates).at(0), 3);
  EXPECT_EQ(whole.session().read_values<int64_t>(names::kUpdates).at(0), 3);
}

// One micro-batch: fused or apart, not a bit differs, batch normalisation included.
TEST_P(Updates, OfOneMicroBatchEqualTheFusedStepToTheBit) {
  StepSpec spec = cnn_spec(GetParam().optimizer);
  Batch batch(5);
  Training fused(GetParam().backend, spec, {{"step", build_fused_step(spec, 5)}});
  Training apart(GetParam().backend, spec,
                 {{"accumulate", build_accumulate(spec, 5)}, {"update", build_update(spec)}});
  for (int step = 0; step < 3; ++step) {
    fused.run("step", batch, 0, 5, 5);
    apart.run("accumulate", batch, 0, 5);
    apart.update(5);
  }
  for (const std::string& name : fused.session().variable_names()) {
    if (name.starts_with("gradient.")) continue;
    EXPECT_EQ(fused.session().read_values<uint8_t>(name),
              apart.session().read_values<uint8_t>(name))
        << name;
  }
}

TEST_P(Updates, StopForGoodAtTheFirstNonFiniteNumber) {
  StepSpec spec = cnn_spec(GetParam().optimizer);
  Batch batch(5);
  Training training(GetParam().backend, spec, {{"step", build_fused_step(spec, 5)}});
  training.run("step", batch, 0, 5, 5);
  const std::vector<int64_t> clear = {0, 0};
  EXPECT_EQ(training.session().read_values<int64_t>(names::kStop), clear);

  std::vector<float> bias = training.session().read_values<float>("fc.bias");
  std::vector<float> broken = bias;
  broken[1] = std::numeric_limits<float>::quiet_NaN();
  training.session().write("fc.bias", bytes_of(broken));
  auto before = training.updated_state();
  training.run("step", batch, 0, 5, 5);
  std::vector<int64_t> stop = training.session().read_values<int64_t>(names::kStop);
  EXPECT_EQ(describe_stop_tag(spec, stop.at(0) - 1), "logits");
  EXPECT_EQ(stop.at(1), 1);  // logits[0][1]
  EXPECT_EQ(training.updated_state(), before);

  // The cause is gone, the flag stays, nothing moves.
  training.session().write("fc.bias", bytes_of(bias));
  before = training.updated_state();
  for (int step = 0; step < 2; ++step) training.run("step", batch, 0, 5, 5);
  EXPECT_EQ(training.updated_state(), before);
  EXPECT_EQ(training.session().read_values<int64_t>(names::kStop), stop);

  // Cleared by the host, training goes on.
  training.session().write(names::kStop, bytes_of(clear));
  training.run("step", batch, 0, 5, 5);
  EXPECT_NE(training.updated_state(), before);
  EXPECT_EQ(training.session().read_values<int64_t>(names::kUpdates).at(0), 2);
}

TEST_P(Updates, StopNamesTheGradientThatIsNotFinite) {
  StepSpec spec = tiny_spec(GetParam().optimizer);
  Batch batch(4);
  Training training(GetParam().backend, spec,
                    {{"accumulate", build_accumulate(spec, 4)}, {"update", build_update(spec)}});
  training.run("accumulate", batch, 0, 4);
  std::vector<float> sums = training.session().read_values<float>("gradient.fc.weight");
  sums.at(7) = std::numeric_limits<float>::infinity();
  training.session().write("gradient.fc.weight", bytes_of(sums));
  auto before = training.updated_state();
  training.update(4);
  std::vector<int64_t> stop = training.session().read_values<int64_t>(names::kStop);
  EXPECT_EQ(describe_stop_tag(spec, stop.at(0) - 1), "the gradient of fc.weight");
  EXPECT_EQ(stop.at(1), 7);
  EXPECT_EQ(training.updated_state(), before);
}

// Two ranks with equal batches: every gradient is summed once, the divisor counts both.
TEST_P(Updates, SumEveryGradientOverTheRanks) {
  StepSpec spec = cnn_spec(GetParam().optimizer);
  Batch batch(5);
  CountingCommunicator two(2);
  Training alone(GetParam().backend, spec, {{"step", build_fused_step(spec, 5)}});
  Training ranks(GetParam().backend, spec, {{"step", build_fused_step(spec, 5)}}, &two);
  alone.run("step", batch, 0, 5, 5);
  ranks.run("step", batch, 0, 5, 10);
  size_t trained = 0;
  int64_t elements = 0;
  for (const StateEntry& entry : network_state(spec)) {
    if (!entry.trained) continue;
    ++trained;
    elements += entry.type.shape.elements();
    std::vector<float> one = alone.session().read_values<float>("gradient." + entry.name);
    for (float& value : one) value *= 2;
    EXPECT_EQ(ranks.session().read_values<float>("gradient." + entry.name), one);
  }
  EXPECT_EQ(two.sizes.size(), trained);
  EXPECT_EQ(std::accumulate(two.sizes.begin(), two.sizes.end(), int64_t{0}), elements);
  EXPECT_EQ(ranks.updated_state(), alone.updated_state());
}

INSTANTIATE_TEST_SUITE_P(
    Backends, Updates,
    testing::Values(Row{"reference", OptimizerKind::Sgd}, Row{"reference", OptimizerKind::Adam},
                    Row{"reference", OptimizerKind::AdamW}, Row{"cpu", OptimizerKind::Sgd},
                    Row{"cpu", OptimizerKind::Adam}, Row{"cpu", OptimizerKind::AdamW}),
    update_name);

}  // namespace
}  // namespace pounce
