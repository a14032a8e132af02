// Half precision on OpenCL against fp32: accuracy on held-out digits, over three seeds.
#include <algorithm>
#include <cstdio>

#include <gtest/gtest.h>

#include "backend/registry.h"
#include "train/digit_batches.h"
#include "train/step_runner.h"

namespace pounce {
namespace {

using namespace test;

constexpr int kSeeds = 3;
// Batches to learn from, and those to judge by: of every digit the first 120 and 54 others.
constexpr int kTrained = 60, kJudged = 27;

int count_right(StepRunner& runner) {
  int right = 0;
  for (int index = kTrained; index < kTrained + kJudged; ++index) {
    Batch batch = digits(index);
    std::vector<float> logits = runner.evaluate(batch.images, kBatch);
    for (int i = 0; i < kBatch; ++i) {
      auto own = logits.begin() + std::ptrdiff_t(i) * 10;
      right += std::max_element(own, own + 10) - own == batch.labels[size_t(i)] ? 1 : 0;
    }
  }
  return right;
}

// Of all seeds together.
double accuracy(const std::string& model, DType precision) {
  // Enough to settle: in the midst of learning, accuracies differ by points from seed to seed.
  const int updates = (model == "cnn" ? 4 : 16) * kTrained;
  int right = 0;
  for (int seed = 0; seed < kSeeds; ++seed) {
    StepSpec spec = spec_of(model);
    spec.precision = precision;
    spec.updates = updates;
    StepRunner runner({make_backend("opencl"), "opencl"}, spec, {kBatch}, {kBatch});
    runner.initialize(uint64_t(seed), 1);
    std::vector<float> rates;
    for (int i = 0; i < updates; ++i) rates.push_back(0.02F * float(updates - i) / float(updates));
    runner.set_learning_rates(rates);
    for (int update = 0; update < updates; ++update) {
      Batch batch = digits(update % kTrained);
      runner.train(batch.images, batch.labels, std::vector<float>(kBatch, 1.0F));
    }
    EXPECT_FALSE(runner.non_finite());
    right += count_right(runner);
  }
  return double(right) / (kSeeds * kJudged * kBatch);
}

class OpenClPrecision : public testing::TestWithParam<const char*> {};

TEST_P(OpenClPrecision, IsWithinAPointOfFp32) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "minutes of the same loop that other tests run; the release build judges numbers";
#endif
  double single = accuracy(GetParam(), DType::F32);
  double bf16 = accuracy(GetParam(), DType::BF16), fp16 = accuracy(GetParam(), DType::F16);
  std::printf("%s on opencl, %d seeds: fp32 %.4f, bf16 %.4f, fp16 %.4f\n", GetParam(), kSeeds,
              single, bf16, fp16);
  EXPECT_GT(single, 0.9);
  EXPECT_NEAR(bf16, single, 0.01);
  EXPECT_NEAR(fp16, single, 0.01);
}

INSTANTIATE_TEST_SUITE_P(Networks, OpenClPrecision, testing::Values("cnn", "resnet"),
                         [](const auto& row) { return std::string(row.param); });

}  // namespace
}  // namespace pounce
