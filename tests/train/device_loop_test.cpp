// The training loop on every kind of device: what it asks of the device, the losses it sees, and
// the bits it leaves.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include <gtest/gtest.h>

#include "backend/registry.h"
#include "train/digit_batches.h"
#include "train/step_runner.h"

namespace pounce {
namespace {

using namespace test;

// Calls through, and counts what a step must not do.
class CountingBackend final : public Backend {
 public:
  explicit CountingBackend(std::unique_ptr<Backend> backend) : backend_(std::move(backend)) {}

  std::string_view name() const override { return backend_->name(); }
  const Target& target() const override { return backend_->target(); }
  std::optional<std::string> supports(const Graph& graph, const Node& node,
                                      const Target& target) const override {
    return backend_->supports(graph, node, target);
  }
  LoweredGraph lower(const Graph& graph, const Target& target) const override {
    return backend_->lower(graph, target);
  }
  std::unique_ptr<Buffer> allocate(size_t bytes) override {
    ++allocations;
    return backend_->allocate(bytes);
  }
  std::unique_ptr<Executable> compile(const Graph& graph, const LoweredGraph& lowered,
                                      const Plan& plan, const CompileOptions& options) override {
    ++compilations;
    return backend_->compile(graph, lowered, plan, options);
  }
  void upload(Buffer& destination, size_t offset, std::span<const std::byte> source) override {
    uploaded += source.size();
    backend_->upload(destination, offset, source);
  }
  void download(const Buffer& source, size_t offset, std::span<std::byte> destination) override {
    ++downloads;
    if (is_running) ++downloads_before_run;
    backend_->download(source, offset, destination);
  }
  void copy(Buffer& destination, size_t destination_offset, const Buffer& source,
            size_t source_offset, size_t bytes) override {
    ++copies;
    backend_->copy(destination, destination_offset, source, source_offset, bytes);
  }
  void run(Executable& executable, const Bindings& bindings) override {
    ++runs;
    backend_->run(executable, bindings);
    is_running = false;
  }
  void synchronize() override {
    ++synchronizations;
    backend_->synchronize();
  }
  MemoryInfo memory_info() const override { return backend_->memory_info(); }

  int allocations = 0, compilations = 0, downloads = 0, copies = 0, runs = 0, synchronizations = 0;
  int downloads_before_run = 0;  // while is_running: between a step's begin and its launch
  bool is_running = false;
  size_t uploaded = 0;

 private:
  std::unique_ptr<Backend> backend_;
};

struct Curve {
  std::vector<double> losses;  // mean of each update
  std::vector<std::vector<uint8_t>> variables;
};

Curve train(const std::string& device, const std::string& model) {
  StepRunner runner({make_backend(device), device}, spec_of(model), {kBatch}, {});
  runner.initialize(1, 1);
  runner.set_learning_rates(std::vector<float>(50, 0.02F));
  Curve curve;
  const std::vector<float> weights(kBatch, 1.0F);
  for (int update = 0; update < 50; ++update) {
    Batch batch = digits(update % 10);
    double sum = 0;
    for (float loss : runner.train(batch.images, batch.labels, weights).losses) sum += loss;
    curve.losses.push_back(sum / kBatch);
  }
  for (const std::string& name : runner.session().variable_names()) {
    curve.variables.push_back(runner.session().read_values<uint8_t>(name));
  }
  return curve;
}

class Loop : public testing::TestWithParam<const char*> {};

constexpr size_t kImageBytes = size_t{kSize} * kSize * 3 + sizeof(int32_t);  // and its label's

// Transfers to the device are the batch and its labels: weights and divisor stay there from the
// first two updates on. Nothing is allocated, compiled or waited for but the results that are read.
TEST_P(Loop, AsksForNothingButTransfersAndRuns) {
  auto counting = std::make_shared<CountingBackend>(make_backend(GetParam()));
  StepRunner runner({counting, GetParam()}, spec_of("cnn"), {kBatch}, {});
  runner.initialize(1, 1);
  runner.set_learning_rates(std::vector<float>(50, 0.02F));
  EXPECT_GT(counting->allocations, 0);
  EXPECT_EQ(counting->compilations, 1);
  counting->allocations = counting->compilations = counting->downloads = 0;
  counting->synchronizations = 0;
  counting->uploaded = 0;
  constexpr size_t kSteadyBytes = (kBatch + 1) * sizeof(float);
  const std::vector<float> weights(kBatch, 1.0F);
  for (int update = 1; update <= 5; ++update) {
    Batch batch = digits(update);
    counting->is_running = true;
    runner.train(batch.images, batch.labels, weights);
    EXPECT_FALSE(runner.non_finite());
    EXPECT_EQ(counting->runs, update);
    EXPECT_EQ(counting->downloads, 3 * update);  // losses, ranks, stop flag
    EXPECT_EQ(counting->uploaded, kBatch * kImageBytes + (update <= 2 ? kSteadyBytes : 0));
    counting->uploaded = 0;
  }
  EXPECT_EQ(counting->downloads_before_run, 0);
  EXPECT_EQ(counting->allocations, 0);
  EXPECT_EQ(counting->compilations, 0);
  EXPECT_EQ(counting->copies, 0);
  EXPECT_EQ(counting->synchronizations, 0);
}

// A batch of another size or other weights brings them along. Weights that lie on the device
// change no bit: where evaluations overwrite the inputs between updates, all travel each time.
TEST_P(Loop, WeightsTravelWhenTheyChange) {
  constexpr int kShort = kBatch - 7;
  struct Update {
    int size;
    float weight;
    bool travels;  // weights and divisor
  };
  constexpr Update kUpdates[] = {
      {kBatch, 1, true},     {kBatch, 1, true},  {kBatch, 1, false},   {kBatch, 1, false},
      {kShort, 1, true},     {kBatch, 1, false},  // the short batch fits below the others' weights
      {kBatch, 1, false},    {kBatch, 1, false}, {kBatch, 0.5F, true}, {kBatch, 0.5F, true},
      {kBatch, 0.5F, false},
  };
  struct Run {
    std::vector<std::vector<float>> losses;
    std::vector<std::vector<uint8_t>> variables;
    std::vector<bool> travelled;
  };
  auto run = [&](bool overwrites) {
    auto counting = std::make_shared<CountingBackend>(make_backend(GetParam()));
    StepRunner runner({counting, GetParam()}, spec_of("cnn"), {kBatch, kShort}, {2 * kBatch});
    runner.initialize(1, 1);
    runner.set_learning_rates(std::vector<float>(50, 0.02F));
    Run result;
    const std::vector<uint8_t> blank(2 * kBatch * kSize * kSize * 3);
    for (const Update& update : kUpdates) {
      Batch batch = digits(int(result.losses.size()));
      batch.images.resize(size_t(update.size) * kSize * kSize * 3);
      batch.labels.resize(size_t(update.size));
      if (overwrites) {
        for (int half = 0; half < 2; ++half) runner.evaluate(blank, 2 * kBatch);
      }
      counting->uploaded = 0;
      std::vector<float> weights(size_t(update.size), update.weight);
      result.losses.push_back(runner.train(batch.images, batch.labels, weights).losses);
      size_t beside = counting->uploaded - size_t(update.size) * kImageBytes;
      result.travelled.push_back(beside > 0);
    }
    for (const std::string& name : runner.session().variable_names()) {
      result.variables.push_back(runner.session().read_values<uint8_t>(name));
    }
    return result;
  };
  Run kept = run(false), overwritten = run(true);
  EXPECT_EQ(kept.losses, overwritten.losses);
  EXPECT_EQ(kept.variables, overwritten.variables);
  for (size_t i = 0; i < std::size(kUpdates); ++i) {
    EXPECT_EQ(kept.travelled[i], kUpdates[i].travels) << "update " << i;
    EXPECT_TRUE(overwritten.travelled[i]) << "update " << i;
  }
}

// Whatever goes wrong, and wherever, the device gets its memory back.
TEST_P(Loop, GivesMemoryBackAfterErrors) {
  std::shared_ptr<Backend> backend = make_backend(GetParam());
  size_t before = backend->memory_info().allocated_bytes;
  {
    StepRunner runner({backend, GetParam()}, spec_of("cnn"), {kBatch}, {});
    size_t held = backend->memory_info().allocated_bytes;
    EXPECT_GT(held, before);
    EXPECT_THROW(runner.add_train_size(1 << 26), Error);  // does not fit
    EXPECT_EQ(backend->memory_info().allocated_bytes, held);
    Batch batch = digits(0);
    std::vector<uint8_t> cut(batch.images.begin(), batch.images.end() - 1);
    EXPECT_THROW(runner.train(cut, batch.labels, std::vector<float>(kBatch, 1.0F)), Error);
    EXPECT_EQ(backend->memory_info().allocated_bytes, held);
  }
  EXPECT_EQ(backend->memory_info().allocated_bytes, before);
}

INSTANTIATE_TEST_SUITE_P(Devices, Loop, testing::Values("cpu", "opencl"),
                         [](const auto& row) { return std::string(row.param); });

class Curves : public testing::TestWithParam<const char*> {};

TEST_P(Curves, OfOpenClFollowTheCpus) {
  Curve cpu = train("cpu", GetParam()), opencl = train("opencl", GetParam());
  double worst = 0;
  for (size_t i = 0; i < cpu.losses.size(); ++i) {
    worst = std::max(worst, std::abs(opencl.losses[i] - cpu.losses[i]));
  }
  std::printf("curve %s: largest difference %.1e, loss %.4f to %.4f\n", GetParam(), worst,
              cpu.losses.front(), cpu.losses.back());
  EXPECT_LE(worst, 1e-3);
  EXPECT_LT(cpu.losses.back(), 0.5 * cpu.losses.front());
}

TEST_P(Curves, AreTheSameBitsOnEveryRun) {
  Curve first = train("opencl", GetParam()), second = train("opencl", GetParam());
  EXPECT_EQ(first.losses, second.losses);
  EXPECT_EQ(first.variables, second.variables);
}

INSTANTIATE_TEST_SUITE_P(Networks, Curves, testing::Values("cnn", "resnet"),
                         [](const auto& row) { return std::string(row.param); });

}  // namespace
}  // namespace pounce
