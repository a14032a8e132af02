// Measuring the two halves of training apart: the step alone, on synthetic images, and the loader
// alone, which reads, decodes and prepares them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "pounce/error.h"
#include "pounce/export.h"
#include "pounce/train.h"

namespace pounce {

constexpr double kMostBenchSeconds = 86'400;

struct BenchStepConfig {
  std::string model = "resnet18";  // cnn, resnet18, resnet34, resnet50, resnet101
  int image_size = 224;            // pixels, square; 8 to 4096
  int batch_size = 16;
  double seconds = 10;  // time steps for as long as this, but at least five; above 0
  int threads = 0;      // compute threads; 0: as many as there are cores
  std::string device = "auto";
  ConvAlgorithm conv_algorithm = ConvAlgorithm::Auto;
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

struct BenchLoaderConfig {
  std::string data;      // any folder `pounce train` takes, or any folder with images below it
  int image_size = 224;  // 8 to 4096
  double crop_scale_min = 0.08, crop_scale_max = 1;  // share of the area; torchvision's default
  int batch_size = 64;
  int workers = 0;      // decode threads; 0: as many as prove useful
  double seconds = 10;  // measure for as long as this; above 0
  int epochs = 0;       // above 0: measure exactly as many, in the place of `seconds`
  // None, Ram or Disk. With a cache an epoch is measured that fills it, then others that use it.
  CacheMode cache = CacheMode::None;
  CacheLimit cache_limit{};
};

// The first batches from one thread and from several, against one image after the other.
struct LoaderVerification {
  int images = 0;   // compared, all equal
  int decoded = 0;  // of these, equal to a crop of the whole decoded picture as well
  double seconds = 0;
};

// What was measured over some epochs.
struct LoaderRate {
  int64_t images = 0;  // handed over
  double seconds = 0;
  double images_per_second = 0;      // median of slices of a quarter of a second or a batch
  double p10 = 0, p90 = 0;           // images a second that 90 % and 10 % of the slices reach
  double images_per_cpu_second = 0;  // how fast one core is
  // Milliseconds an image: of decode threads, and that the consumer waited.
  double read_ms = 0, decode_ms = 0, transform_ms = 0, wait_ms = 0;
};

struct BenchLoaderResult {
  int64_t images = 0;   // in the folder
  int64_t skipped = 0;  // files that proved unusable
  LoaderVerification verification;
  int threads = 0;                   // at the end
  std::string cache_note;            // what the cache holds; empty without one
  LoaderRate files;                  // with a cache: of the first epoch, which fills it
  std::optional<LoaderRate> cached;  // of the epochs after it
};

// Random resized crop and flip of the training images, in batches that nobody uses. Verified first.
// Throws Config for values out of range and a folder without images, Internal where a batch is
// wrong, Io, Interrupted once `stop` is requested.
POUNCE_API BenchLoaderResult
bench_loader(const BenchLoaderConfig& config,
             const std::function<void(const LoaderVerification&)>& on_verified = {},
             std::stop_token stop = {});

}  // namespace pounce
