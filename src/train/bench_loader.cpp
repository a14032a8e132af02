#include <algorithm>
#include <limits>

#include "base/checksum.h"
#include "base/error.h"
#include "base/file.h"
#include "base/system.h"
#include "data/dataset.h"
#include "data/sample_reader.h"
#include "pounce/bench.h"
#include "train/percentile.h"
#include "train/run_cache.h"
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
  if (!(config.crop_scale_min > 0 && config.crop_scale_min <= config.crop_scale_max &&
        config.crop_scale_max <= 1)) {
    fail(ErrorKind::Config, "crop-scale is {},{}, expected MIN above 0, not above MAX, at most 1",
         config.crop_scale_min, config.crop_scale_max);
  }
  if (config.cache == CacheMode::Auto || config.cache == CacheMode::Shrunk) {
    fail(ErrorKind::Config,
         "cache is {}, expected none, ram or disk: one that begins later, or changes the pictures, "
         "cannot be measured",
         config.cache == CacheMode::Auto ? "auto" : "shrunk");
  }
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

// Epochs from `first` on, until one of both limits.
struct Span {
  uint32_t first = 0, epochs = 0;
  double seconds = 0;
};

LoaderRate summarize(Slices& slices, const Sums& sums, int64_t images, double start, double now) {
  LoaderRate rate;
  rate.images = images;
  rate.seconds = now - start;
  std::vector<double> rates = slices.finish(now);
  if (rates.empty()) {
    fail_with_hint(ErrorKind::BadData, "pounce train names what is wrong with them",
                   "none of the images could be used");
  }
  rate.images_per_second = percentile(rates, 0.5);
  rate.p10 = percentile(rates, 0.1);
  rate.p90 = percentile(rates, 0.9);
  double to_ms = 1000 / double(images);
  rate.read_ms = sums.stages.read * to_ms;
  rate.decode_ms = sums.stages.decode * to_ms;
  rate.transform_ms = sums.stages.transform * to_ms;
  rate.wait_ms = sums.wait * to_ms;
  return rate;
}

LoaderRate measure(BatchLoader& loader, const Span& span, int64_t& skipped) {
  double start = monotonic_seconds(), now = start, cpu = process_cpu_seconds();
  Slices slices(start);
  Sums sums;
  int64_t images = 0;
  uint32_t end = span.first + span.epochs;
  for (uint32_t epoch = span.first; epoch < end && now - start < span.seconds; ++epoch) {
    loader.start_epoch(epoch);
    while (now - start < span.seconds) {
      std::optional<ImageBatch> batch = loader.next();
      if (!batch) break;
      now = monotonic_seconds();
      slices.count(batch->size(), now);
      images += batch->size();
      skipped += int64_t(batch->holes.size());
      loader.recycle(std::move(*batch));
    }
    sums.add(loader);
  }
  LoaderRate rate = summarize(slices, sums, images, start, now);
  rate.images_per_cpu_second = double(images) / (process_cpu_seconds() - cpu);
  return rate;
}

// One epoch that fills the cache, or all of them without one; then those that use it.
void measure_all(BatchLoader& loader, const BenchLoaderConfig& config, BenchLoaderResult& result) {
  constexpr double kForever = std::numeric_limits<double>::infinity();
  uint32_t epochs = config.epochs > 0 ? uint32_t(config.epochs) : kMostBenchEpochs;
  double seconds = config.epochs > 0 ? kForever : config.seconds;
  if (config.cache == CacheMode::None) {
    result.files = measure(loader, {0, epochs, seconds}, result.skipped);
  } else {
    result.files = measure(loader, {0, 1, kForever}, result.skipped);
    if (epochs > 1) result.cached = measure(loader, {1, epochs - 1, seconds}, result.skipped);
  }
  result.threads = loader.threads();
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
  TrainConfig train;
  train.cache = config.cache;
  train.cache_limit = config.cache_limit;
  train.workers = config.workers;
  auto make_cache = [&] {
    std::vector<CachedList> lists{{pictures.samples, prepare_rule(options)}};
    return std::make_unique<RunCache>(train, pictures.root, std::move(lists));
  };
  {
    // Of its own, so that the first epoch finds an empty one.
    std::unique_ptr<RunCache> cache = make_cache();
    cache->start(0);
    options.cache = cache->cache();
    result.verification = verify_loader(options, pictures.samples);
    options.cache.reset();  // only one at a time may add images to a folder
  }
  if (on_verified) on_verified(result.verification);
  std::unique_ptr<RunCache> cache = make_cache();
  for (const std::string& note : cache->start(0)) result.cache_note = note;
  options.cache = cache->cache();
  BatchLoader loader(options, pictures.samples);
  measure_all(loader, config, result);
  return result;
}

}  // namespace pounce
