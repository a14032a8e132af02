// Networks, gradients and optimizers against PyTorch: see tests/goldens/README.md.
#include "train/golden.h"

#include <cstdio>
#include <numeric>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "backend/registry.h"

namespace pounce {
namespace {

constexpr int kBatches = 4;
constexpr int kSteps = 20;
constexpr double kFirstStepTolerance = 1e-4;
constexpr double kTrainedTolerance = 1e-3;

double mean(const std::vector<float>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / double(values.size());
}

struct Row {
  const char* network;
  const char* backend;
  const char* optimizer = "";
};

std::string row_name(const testing::TestParamInfo<Row>& info) {
  const Row& row = info.param;
  std::string name = fmt::format("{}_{}", row.network, row.backend);
  return *row.optimizer ? name + "_" + row.optimizer : name;
}

void report(const Row& row, const char* what, const WorstError& worst) {
  std::printf("golden %s %s %s: %s %.1e (%s)\n", row.network, row.backend, row.optimizer, what,
              worst.error, worst.tensor.c_str());
}

class FirstStep : public testing::TestWithParam<Row> {};

TEST_P(FirstStep, EqualsPyTorch) {
  const Row& row = GetParam();
  Golden golden(row.network);
  std::unique_ptr<Backend> backend = make_backend(row.backend);
  GoldenSession run(*backend, golden, {});

  WorstError forward;
  forward.add("eval_logits", golden_error(run.evaluate(0), golden.floats("eval_logits"), 0));
  std::vector<float> losses = run.step(0);
  std::vector<float> logits = run.session().output<float>("step", names::kLogits);
  forward.add("logits", golden_error(logits, golden.floats("logits"), 0));
  forward.add("sample_losses", golden_error(losses, golden.floats("sample_losses"), 0));
  forward.add("loss", golden_error({float(mean(losses))}, golden.floats("loss"), 0));
  report(row, "outputs", forward);
  EXPECT_LE(forward.error, kFirstStepTolerance) << forward.tensor;

  WorstError gradients, statistics;
  double all = golden.squared_norm("grad."), all_after = golden.squared_norm("after.");
  size_t compared = 0;
  for (const StateEntry& entry : run.state()) {
    if (entry.trained) {
      std::vector<float> sums = run.read("gradient." + entry.name, entry);
      for (float& value : sums) value /= float(losses.size());
      double error = golden_error(sums, golden.floats("grad." + entry.name), all);
      EXPECT_LE(error, kFirstStepTolerance) << entry.name;
      gradients.add(entry.name, error);
      ++compared;
    } else if (entry.type.dtype == DType::F32) {
      double error = golden_error(run.read(entry.name, entry), golden.floats("after." + entry.name),
                                  all_after);
      EXPECT_LE(error, kFirstStepTolerance) << entry.name;
      statistics.add(entry.name, error);
      ++compared;
    } else {
      EXPECT_EQ(run.session().read_values<int64_t>(entry.name).at(0), 1) << entry.name;
    }
  }
  report(row, "gradients", gradients);
  report(row, "running statistics", statistics);
  // Nothing of the file was left out.
  size_t stored = 0;
  for (const NamedTensor& tensor : golden.file().tensors) {
    stored += tensor.name.starts_with("grad.") || tensor.name.starts_with("after.");
  }
  EXPECT_EQ(compared, stored);
}

// The plan may not show in a single bit, with freed memory full of NaN.
TEST_P(FirstStep, IsTheSamePlannedAndUnplanned) {
  const Row& row = GetParam();
  Golden golden(row.network);
  std::unique_ptr<Backend> backend = make_backend(row.backend);
  GoldenSession::Options options{.learning_rate = 1e-3, .updates = 2};
  GoldenSession planned(*backend, golden, options);
  options.reuse = false;
  GoldenSession unplanned(*backend, golden, options);
  EXPECT_LT(planned.session().planned_bytes(), unplanned.session().planned_bytes());
  for (int step = 0; step < 2; ++step) EXPECT_EQ(planned.step(step), unplanned.step(step));
  EXPECT_EQ(planned.evaluate(2), unplanned.evaluate(2));
  for (const std::string& name : planned.session().variable_names()) {
    EXPECT_EQ(planned.session().read_values<uint8_t>(name),
              unplanned.session().read_values<uint8_t>(name))
        << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Golden, FirstStep,
                         testing::Values(Row{"narrow_cnn", "reference"}, Row{"narrow_cnn", "cpu"},
                                         Row{"narrow_basic", "reference"},
                                         Row{"narrow_basic", "cpu"},
                                         Row{"narrow_bottleneck", "reference"},
                                         Row{"narrow_bottleneck", "cpu"},
                                         Row{"narrow_cnn", "opencl"}, Row{"narrow_basic", "opencl"},
                                         Row{"narrow_bottleneck", "opencl"}),
                         row_name);

class TwentySteps : public testing::TestWithParam<Row> {};

TEST_P(TwentySteps, EqualPyTorch) {
  const Row& row = GetParam();
  Golden start(row.network), trained(fmt::format("{}.{}", row.network, row.optimizer));
  std::unique_ptr<Backend> backend = make_backend(row.backend);
  GoldenSession run(*backend, start,
                    {.learning_rate = trained.number("optimizer.lr"),
                     .updates = kSteps,
                     .optimizer = trained.optimizer()});
  std::vector<float> losses;
  for (int step = 0; step < kSteps; ++step) {
    losses.push_back(float(mean(run.step(step % kBatches))));
  }
  WorstError loss, weights;
  std::vector<float> expected = trained.floats("losses");
  for (size_t i = 0; i < losses.size(); ++i) {
    loss.add(fmt::format("step {}", i + 1), golden_error({losses[i]}, {expected.at(i)}, 0));
  }
  double all = trained.squared_norm("final.");
  for (const StateEntry& entry : run.state()) {
    if (entry.type.dtype != DType::F32) continue;
    double error =
        golden_error(run.read(entry.name, entry), trained.floats("final." + entry.name), all);
    EXPECT_LE(error, kTrainedTolerance) << entry.name;
    weights.add(entry.name, error);
  }
  report(row, "losses", loss);
  report(row, "final weights", weights);
  EXPECT_LE(loss.error, kFirstStepTolerance) << loss.tensor;
  EXPECT_EQ(run.session().read_values<int64_t>(names::kUpdates).at(0), kSteps);
  EXPECT_EQ(run.session().read_values<int64_t>(names::kStop), (std::vector<int64_t>{0, 0}));
}

std::vector<Row> trainings() {
  std::vector<Row> rows;
  for (const char* backend : {"reference", "cpu", "opencl"}) {
    for (const char* network : {"narrow_cnn", "narrow_basic", "narrow_bottleneck"}) {
      for (const char* optimizer : {"sgd", "adam", "adamw"}) {
        rows.push_back({network, backend, optimizer});
      }
    }
    rows.push_back({"narrow_cnn", backend, "sgd_nesterov"});
  }
  return rows;
}

INSTANTIATE_TEST_SUITE_P(Golden, TwentySteps, testing::ValuesIn(trainings()), row_name);

}  // namespace
}  // namespace pounce
