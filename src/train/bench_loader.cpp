#include <algorithm>
#include <limits>

#include "base/checksum.h"
#include "base/error.h"
#include "base/file.h"
#include "base/system.h"
#include "data/dataset.h"
#include "pounce/bench.h"
#include "train/percentile.h"
#include "train/verify_loader.h"

namespace pounce {
namespace {

constexpr double kSliceSeconds = 0.25;
constexpr int kMostBenchEpochs = 10'000;

void check_config(const BenchLoaderConfig& config) {
  auto check = [](const char* name, double value, double least, double most) {
    if (value >= least && value <= most) return;
    fail(ErrorKind::Config, "{} is {}, expected {} to {}", name, value, least, most);
  };
  check("image-size", config.image_size, 8, 4096);
  check("batch-size", config.batch_size, 1, 65536);
  check("workers", config.workers, 0, 1024);
  check("epochs", config.epochs, 0, kMostBenchEpochs);
  check("crop-scale", config.crop_scale_min, 0.01, 1);
  check("crop-scale", config.crop_scale_max, config.crop_scale_min, 1);
  if (config.seconds > 0 && config.seconds <= kMostBenchSeconds) return;
  fail(ErrorKind::Config, "seconds is {}, expected a number above 0, at most {}", config.seconds,
       kMostBenchSeconds);
}

struct Pictures {
  std::string root;
  SampleList samples;
};

// Any folder with pictures below it, whatever its form.
Pictures find_pictures(const std::string& folder, const std::stop_token& stop) {
  Pictures found;
  for (const std::string& path : find_image_files(folder, stop)) {
    found.samples.push_back({.path = path, .id = xxh3_64(path)});
  }
  return found;
}

Pictures training_images(const BenchLoaderConfig& config, const std::stop_token& stop) {
  try {
    ImageFolder folder = scan_dataset({.root = config.data,
                                       .val_fraction = 0,
                                       .on_bad = OnBad::Skip,
                                       .threads = config.workers,
                                       .stop = stop});
    return {folder.root, folder.train};
  } catch (const Error& error) {
    // A folder that nothing can be trained on may hold pictures all the same.
    if (error.kind() != ErrorKind::Config || !is_directory(config.data)) throw;
    Pictures found = find_pictures(config.data, stop);
    if (found.samples.empty()) throw;
    return found;
  }
}

BatchLoaderOptions loader_options(const BenchLoaderConfig& config, const Pictures& pictures,
                                  const std::stop_token& stop) {
  return {.root = pictures.root,
          .batch_size = config.batch_size,
          .preprocessing = {.image_size = config.image_size},
          .augmentation = {.crop_min = config.crop_scale_min, .crop_max = config.crop_scale_max},
          .workers = config.workers,
          .stop = stop};
}

// Rates of slices of time, each of whole batches.
class Slices {
 public:
  explicit Slices(double now) : start_(now) {}

  void count(int images, double now) {
    images_ += images;
    if (now - start_ >= kSliceSeconds) close(now);
  }
  // Sorted. What is left over counts where there is nothing else.
  std::vector<double> finish(double now) {
    if (rates_.empty() && images_ > 0) close(now);
    std::sort(rates_.begin(), rates_.end());
    return rates_;
  }

 private:
  void close(double now) {
    rates_.push_back(images_ / (now - start_));
    images_ = 0;
    start_ = now;
  }

  std::vector<double> rates_;
  double start_;
  int images_ = 0;
};

// Sums over the epochs that were measured.
struct Sums {
  StageSeconds stages;
  double wait = 0;

  void add(const BatchLoader& loader) {
    StageSeconds more = loader.stage_seconds();
    stages.read += more.read;
    stages.decode += more.decode;
    stages.transform += more.transform;
    wait += loader.wait_seconds();
  }
};

void measure(BatchLoader& loader, const BenchLoaderConfig& config, BenchLoaderResult& result) {
  double start = monotonic_seconds(), now = start, cpu = process_cpu_seconds();
  double end = config.epochs > 0 ? std::numeric_limits<double>::infinity() : start + config.seconds;
  uint32_t epochs = config.epochs > 0 ? uint32_t(config.epochs) : kMostBenchEpochs;
  Slices slices(start);
  Sums sums;
  for (uint32_t epoch = 0; epoch < epochs && now < end; ++epoch) {
    loader.start_epoch(epoch);
    while (now < end) {
      std::optional<ImageBatch> batch = loader.next();
      if (!batch) break;
      now = monotonic_seconds();
      slices.count(batch->size(), now);
      result.timed += batch->size();
      result.skipped += int64_t(batch->holes.size());
      loader.recycle(std::move(*batch));
    }
    sums.add(loader);
  }
  result.seconds = now - start;
  result.threads = loader.threads();
  std::vector<double> rates = slices.finish(now);
  if (rates.empty()) {
    fail_with_hint(ErrorKind::BadData, "pounce train names what is wrong with them",
                   "none of the {} images could be used", result.images);
  }
  result.images_per_second = percentile(rates, 0.5);
  result.p10 = percentile(rates, 0.1);
  result.p90 = percentile(rates, 0.9);
  result.images_per_cpu_second = double(result.timed) / (process_cpu_seconds() - cpu);
  double to_ms = 1000 / double(result.timed);
  result.read_ms = sums.stages.read * to_ms;
  result.decode_ms = sums.stages.decode * to_ms;
  result.transform_ms = sums.stages.transform * to_ms;
  result.wait_ms = sums.wait * to_ms;
}

}  // namespace

BenchLoaderResult bench_loader(const BenchLoaderConfig& config,
                               const std::function<void(const LoaderVerification&)>& on_verified,
                               std::stop_token stop) {
  check_config(config);
  Pictures pictures = training_images(config, stop);
  BenchLoaderResult result;
  result.images = int64_t(pictures.samples.size());
  BatchLoaderOptions options = loader_options(config, pictures, stop);
  result.verification = verify_loader(options, pictures.samples);
  if (on_verified) on_verified(result.verification);
  BatchLoader loader(options, pictures.samples);
  measure(loader, config, result);
  return result;
}

}  // namespace pounce
