// Measuring the training step alone, on synthetic images: how fast a machine trains when data is no
// hindrance.
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>

#include "pounce/error.h"
#include "pounce/export.h"

namespace pounce {

constexpr double kMostBenchSeconds = 86'400;

struct BenchStepConfig {
  std::string model = "resnet18";  // cnn, resnet18, resnet34, resnet50, resnet101
  int image_size = 224;            // pixels, square; 8 to 4096
  int batch_size = 16;
  double seconds = 10;  // time steps for as long as this, but at least five; above 0
  int threads = 0;      // compute threads; 0: as many as there are cores
  std::string device = "auto";
};

// An update computed on the device and by the plain loops of the reference, compared, and the
// losses of the one after it. Errors are relative: |a - b| / |b| by the Euclidean norm of a tensor.
struct StepVerification {
  int image_size = 0;  // of the comparison: small enough for plain loops
  int batch_size = 0;
  double loss_error = 0;     // of the images' losses, worst of both updates
  double weight_error = 0;   // of the worst tensor among weights, statistics, gradients, moments
  std::string worst_tensor;  // its name
  double tolerance = 0;      // what both must stay below
  double seconds = 0;        // that it took
};

struct BenchStepResult {
  std::string device;     // "cpu, 8 threads"
  std::string precision;  // of the computation: fp32
  std::string optimizer;  // adamw
  int64_t parameters = 0;
  int64_t planned_bytes = 0;  // weights, optimizer, activations, staging
  StepVerification verification;
  int steps = 0;  // timed
  double seconds = 0;
  double images_per_second = 0;  // of the median step
  double p10 = 0, p90 = 0;       // images a second that 90 % and 10 % of the steps reach
  double step_ms = 0;            // median
};

// What happens before the result is there. Either may be empty.
struct BenchStepObserver {
  std::function<void()> on_verifying;  // it takes seconds, for deep networks more than ten
  std::function<void(const StepVerification&)> on_verified;
};

// Forward, backward and AdamW update of a classifier with two classes, from random weights: the
// very program `pounce train` runs, with its uploads of images and downloads of losses. Verified
// first, then warmed up, then timed. Throws Config for values out
// of range, Device for a device that is not there or whose results are wrong, OutOfMemory,
// Interrupted between two steps once `stop` is requested.
POUNCE_API BenchStepResult bench_step(const BenchStepConfig& config,
                                      const BenchStepObserver& observer = {},
                                      std::stop_token stop = {});

}  // namespace pounce
