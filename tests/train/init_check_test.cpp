// Thirty steps from PyTorch's initial weights, on its batches, against its losses; and
// torchvision's files in the forms that people have. tools/make_init_check.py writes what is read
// here.
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "expect_error.h"
#include "train/init_samples.h"
#include "train/step_runner.h"

namespace pounce {
namespace {

using namespace test;
using testing::IsEmpty;
using testing::SizeIs;

constexpr double kTolerance = 1e-3;
constexpr size_t kEntries = 100;  // of a ResNet-18, without the head

template <typename T>
std::vector<T> values_of(const TensorFile& file, const char* name) {
  const NamedTensor* tensor = file.find(name);
  if (tensor == nullptr) throw std::runtime_error(std::string("no tensor ") + name);
  std::vector<T> values(tensor->bytes.size() / sizeof(T));
  std::memcpy(values.data(), tensor->bytes.data(), tensor->bytes.size());
  return values;
}

template <typename T>
std::vector<T> part_of(const std::vector<T>& all, size_t index, size_t parts) {
  size_t each = all.size() / parts;
  auto begin = all.begin() + std::ptrdiff_t(index * each);
  return {begin, begin + std::ptrdiff_t(each)};
}

class InitCheck : public testing::Test {
 protected:
  void SetUp() override {
    const char* folder = std::getenv("POUNCE_INIT_CHECK");
    if (folder == nullptr || *folder == 0) {
      GTEST_SKIP() << "POUNCE_INIT_CHECK names no folder of tools/make_init_check.py";
    }
    folder_ = folder;
  }

  InitFile file(const char* name) const { return read_init_file(folder_ + "/" + name, ""); }

  std::string folder_;
};

TEST_F(InitCheck, TakesTorchvisionsForms) {
  ModelInfo network = network_info("resnet18", 2);
  for (const char* name : {"resnet18.safetensors", "module.safetensors", "half.safetensors"}) {
    StartWeights start(file(name), network);
    EXPECT_THAT(start.report().loaded, SizeIs(kEntries)) << name;
    EXPECT_THAT(start.report().unknown, IsEmpty()) << name;
    EXPECT_EQ(start.report().head, "head replaced (1,000 classes in the file, 2 here)") << name;
  }
  EXPECT_EQ(StartWeights(file("module.safetensors"), network).report().prefix, "module.");
  EXPECT_ERROR(StartWeights(file("renamed.safetensors"), network), ErrorKind::Config,
               "of the 100 entries");
  EXPECT_ERROR(StartWeights(file("resnet50.safetensors"), network), ErrorKind::Config,
               "--model resnet50");
}

TEST_F(InitCheck, ThirtyStepsHavePyTorchsLosses) {
  constexpr size_t kSteps = 30;
  constexpr int kBatch = 16;
  TensorFile steps = read_safetensors(read_file(folder_ + "/steps.safetensors").value());
  std::vector<uint8_t> images = values_of<uint8_t>(steps, "images");
  std::vector<int32_t> labels = values_of<int32_t>(steps, "labels");
  std::vector<double> expected = values_of<double>(steps, "losses");
  ASSERT_THAT(expected, SizeIs(kSteps));
  ASSERT_THAT(labels, SizeIs(kSteps * kBatch));

  ModelInfo network = network_info("resnet18", 100);
  network.image_size = 64;
  StartWeights start(file("start.safetensors"), network);
  ASSERT_THAT(start.report().loaded, SizeIs(kEntries + 2));
  StepSpec spec = make_step_spec(network);
  spec.optimizer = {.kind = OptimizerKind::Sgd, .momentum = 0.9, .weight_decay = 0};
  spec.updates = int64_t(kSteps);
  StepRunner runner(open_device("cpu", {}), spec, {kBatch}, {});
  runner.initialize(0, 0, &start);
  runner.set_learning_rates(std::vector<float>(kSteps, 0.01f));

  double worst = 0;
  for (size_t step = 0; step < kSteps; ++step) {
    StepResult result = runner.train(part_of(images, step, kSteps), part_of(labels, step, kSteps),
                                     std::vector<float>(kBatch, 1.0f));
    double loss = 0;
    for (float each : result.losses) loss += each / double(kBatch);
    double error = std::abs(loss - expected[step]) / expected[step];
    EXPECT_LE(error, kTolerance) << "step " << step << ": " << loss << ", PyTorch "
                                 << expected[step];
    worst = std::max(worst, error);
  }
  std::printf("30 losses against PyTorch: worst relative difference %.1e\n", worst);
}

}  // namespace
}  // namespace pounce
