// The benchmark of training steps: what its verification sees, what it refuses, that it can stop.
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "backend/registry.h"
#include "expect_error.h"
#include "pounce/bench.h"
#include "train/inference.h"
#include "train/verify_step.h"

namespace pounce {
namespace {

BenchStepConfig small() {
  return {.model = "cnn", .image_size = 16, .batch_size = 4, .seconds = 0.01, .threads = 1};
}

StepSpec small_spec() {
  ModelInfo info;
  info.model = "cnn";
  info.classes = {"a", "b"};
  info.image_size = 16;
  return make_step_spec(info);
}

TEST(VerifyStep, TheCpuAgreesWithTheReference) {
  StepVerification result = verify_step(open_device("cpu", {.threads = 1}), small_spec());
  EXPECT_LT(result.loss_error, 1e-5);
  EXPECT_GT(result.weight_error, 0);  // they are two implementations
  EXPECT_LT(result.weight_error, result.tolerance);
  EXPECT_EQ(result.image_size, 16);
  EXPECT_GE(result.batch_size, 2);
}

class ComparedStates : public testing::Test {
 protected:
  StepVerification changed(const std::string& tensor, float factor) const {
    StepState found = expected_;
    for (float& value : found.tensors.at(tensor)) value *= factor;
    return compare_states(found, expected_);
  }

  StepState expected_ = run_updates({make_backend("reference"), "reference"}, small_spec(), 4);
};

TEST_F(ComparedStates, EveryKindOfTensorCounts) {
  StepVerification same = compare_states(expected_, expected_);
  EXPECT_EQ(same.loss_error, 0);
  EXPECT_EQ(same.weight_error, 0);
  EXPECT_NO_THROW(check_verification(same, "cpu"));
  for (const char* tensor :
       {"fc.weight", "features.1.running_var", "gradient.features.3.weight",
        "optimizer.first_moment.features.0.weight", "optimizer.second_moment.fc.weight"}) {
    SCOPED_TRACE(tensor);
    StepVerification result = changed(tensor, 1.01F);
    EXPECT_EQ(result.worst_tensor, tensor);
    EXPECT_NEAR(result.weight_error, 0.01, 1e-3);
    EXPECT_ERROR(check_verification(result, "cpu"), ErrorKind::Device, tensor);
  }
}

TEST_F(ComparedStates, LossesAndNumbersThatAreNotFiniteCount) {
  StepState found = expected_;
  found.losses.back() *= 1.1F;
  StepVerification losses = compare_states(found, expected_);
  EXPECT_ERROR(check_verification(losses, "cpu"), ErrorKind::Device, "the losses");
  for (float value : {std::numeric_limits<float>::quiet_NaN(), HUGE_VALF}) {
    found = expected_;
    found.tensors.at("fc.bias")[0] = value;
    StepVerification result = compare_states(found, expected_);
    EXPECT_EQ(result.worst_tensor, "fc.bias");
    EXPECT_THROW(check_verification(result, "cpu"), Error);
  }
}

TEST(BenchStep, MeasuresAndVerifies) {
  std::vector<std::string> order;
  BenchStepResult result =
      bench_step(small(), {.on_verifying = [&] { order.push_back("verifying"); },
                           .on_verified = [&](const StepVerification&) { order.push_back("ok"); }});
  EXPECT_EQ(order, (std::vector<std::string>{"verifying", "ok"}));
  EXPECT_EQ(result.precision, "fp32");
  EXPECT_EQ(result.optimizer, "adamw");
  EXPECT_EQ(result.device, "cpu, 1 thread");
  EXPECT_GE(result.steps, 5);
  EXPECT_GT(result.planned_bytes, result.parameters * 4 * 4);  // weights, gradients, two moments
  EXPECT_LE(result.p10, result.images_per_second);
  EXPECT_LE(result.images_per_second, result.p90);
  EXPECT_NEAR(result.images_per_second * result.step_ms, 4 * 1000.0, 1e-6);
  EXPECT_GT(result.seconds, 0);
}

TEST(BenchStep, RefusesWhatCannotBe) {
  auto run = [](auto change) {
    BenchStepConfig config = small();
    change(config);
    bench_step(config);
  };
  EXPECT_ERROR(run([](auto& c) { c.model = "resnet99"; }), ErrorKind::Config, "resnet99");
  EXPECT_ERROR(run([](auto& c) { c.image_size = 0; }), ErrorKind::Config, "image-size is 0");
  EXPECT_ERROR(run([](auto& c) { c.batch_size = 0; }), ErrorKind::Config, "batch-size is 0");
  EXPECT_ERROR(run([](auto& c) { c.seconds = -1; }), ErrorKind::Config, "seconds is -1");
  EXPECT_ERROR(run([](auto& c) { c.seconds = 0; }), ErrorKind::Config, "seconds is 0", "above 0");
  EXPECT_ERROR(run([](auto& c) { c.seconds = std::nan(""); }), ErrorKind::Config, "seconds is nan");
  EXPECT_ERROR(run([](auto& c) { c.threads = -1; }), ErrorKind::Config, "threads is -1");
  EXPECT_ERROR(run([](auto& c) { c.device = "cuda"; }), ErrorKind::Device, "cuda");
}

TEST(BenchStep, StopsOnRequest) {
  std::stop_source late, early;
  BenchStepObserver after{.on_verifying = {},
                          .on_verified = [&](const StepVerification&) { late.request_stop(); }};
  EXPECT_ERROR(bench_step(small(), after, late.get_token()), ErrorKind::Interrupted, "");
  // Before the verification: it does not run to its end.
  bool is_verified = false;
  BenchStepObserver before{.on_verifying = [&] { early.request_stop(); },
                           .on_verified = [&](const StepVerification&) { is_verified = true; }};
  EXPECT_ERROR(bench_step(small(), before, early.get_token()), ErrorKind::Interrupted, "");
  EXPECT_FALSE(is_verified);
}

}  // namespace
}  // namespace pounce
