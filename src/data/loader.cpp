#include "data/loader.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <numeric>
#include <thread>
#include <unordered_set>

#include "base/file.h"
#include "base/system.h"
#include "data/header_scan.h"
#include "data/order.h"
#include "data/prepare.h"

namespace pounce {
namespace {

// An image in the order of the epoch.
struct Place {
  uint32_t sample = 0;
  uint32_t occurrence = 0;  // of the image in this epoch, from 0
};

// A batch some of whose images are still being decoded.
struct PendingBatch {
  ImageBatch batch;                                 // indices in epoch order, holes still inside
  std::vector<std::optional<SkippedFile>> hole_at;  // [planned_size]
  std::vector<bool> is_known_hole;                  // [planned_size], reported before
  int remaining = 0;
};

struct Task {
  std::shared_ptr<PendingBatch> pending;  // keeps the memory when the epoch is abandoned
  Place place;
  int slot = 0;
  uint32_t epoch = 0;
};

// What one thread needs to turn files into pixels; grows once, then allocates nothing.
struct Workbench {
  explicit Workbench(const PrepareRule& rule) : preparer(rule) {}

  Preparer preparer;
  std::vector<uint8_t> file;
  Image image;  // what an ImageReader gave
};

Result<void> read_file(const std::string& path, std::vector<uint8_t>& content) {
  Result<InputFile> file = InputFile::open(path);
  if (!file) return tl::make_unexpected(file.error());
  if (auto refused = check_file_size(file->size())) return tl::make_unexpected(*refused);
  content.resize(size_t(file->size()));
  Result<size_t> bytes = file->read_at(0, content);
  if (!bytes) return tl::make_unexpected(bytes.error());
  content.resize(*bytes);
  return {};
}

Result<void> prepare_file(const std::string& path, const AugmentKey& key, Workbench& bench,
                          uint8_t* out) {
  if (Result<void> read = read_file(path, bench.file); !read) return read;
  return bench.preparer.from_bytes(bench.file, key, out);
}

size_t image_bytes(const Preprocessing& rule) {
  return size_t(rule.image_size) * size_t(rule.image_size) * 3;
}

void check_options(const BatchLoaderOptions& options) {
  auto require = [](bool is_fine, const char* what) {
    if (!is_fine) fail(ErrorKind::InvalidArgument, "loader: {}", what);
  };
  require(options.batch_size >= 1, "batch_size must be at least 1");
  require(options.preprocessing.image_size >= 1, "image_size must be at least 1");
  require(options.preprocessing.resize_ratio > 0, "resize_ratio must be above 0");
  require(options.workers >= 0, "workers must be at least 0");
  require(options.prefetch >= 1, "prefetch must be at least 1");
  require(options.world >= 1 && options.rank >= 0 && options.rank < options.world,
          "rank must lie in 0..world-1");
}

// Takes the holes out: later images move up, so the order stays.
void close_holes(PendingBatch& pending, const SampleList& samples, size_t bytes) {
  ImageBatch& batch = pending.batch;
  size_t kept = 0;
  for (size_t slot = 0; slot < size_t(batch.planned_size); ++slot) {
    uint32_t index = batch.indices[slot];
    if (pending.hole_at[slot]) {
      if (pending.is_known_hole[slot]) continue;
      batch.holes.push_back(std::move(*pending.hole_at[slot]));
      batch.hole_indices.push_back(index);
      continue;
    }
    if (kept != slot) {
      std::copy_n(&batch.images[slot * bytes], bytes, &batch.images[kept * bytes]);
    }
    batch.indices[kept] = index;
    batch.labels.push_back(samples.label(index));
    ++kept;
  }
  batch.indices.resize(kept);
  batch.images.resize(kept * bytes);
}

}  // namespace

// One mutex guards everything below `mutex`; decoding happens outside it. Threads come last, so
// that they are joined before anything they use is destroyed.
struct BatchLoader::State {
  State(BatchLoaderOptions given, SampleList list)
      : options(std::move(given)), samples(std::move(list)) {
    check_options(options);
    int count = options.workers > 0 ? options.workers : usable_cores();
    for (int i = 0; i < count; ++i) {
      workers.emplace_back([this](std::stop_token stop) { work(stop); });
    }
  }

  void start_epoch(uint32_t number);
  std::optional<ImageBatch> next();

  std::vector<Place> order_of(uint32_t number) const;
  void work(std::stop_token stop);
  std::optional<SkippedFile> prepare(const Task& task, Workbench& bench) const;
  bool has_work() const;
  Task take_task();
  void open_batch();
  void finish(const Task& task, std::optional<SkippedFile> hole, std::exception_ptr error);
  void wait_for_front(std::unique_lock<std::mutex>& lock);

  const BatchLoaderOptions options;
  const SampleList samples;

  mutable std::mutex mutex;
  std::condition_variable_any work_ready, batch_ready;
  std::unordered_set<uint64_t> excluded;
  // The epoch: this rank's images in order, and where each of its batches begins.
  uint32_t epoch = 0;
  std::vector<Place> items;
  std::vector<size_t> batch_begin{0};
  size_t next_item = 0;                            // to be handed to a worker
  size_t next_item_batch = 0;                      // the batch it belongs to
  size_t delivered = 0;                            // batches next() has returned
  std::deque<std::shared_ptr<PendingBatch>> open;  // from `delivered` on
  std::vector<ImageBatch> spare;                   // given back by recycle()
  std::exception_ptr failure;
  double waited = 0;

  std::vector<std::jthread> workers;
};

std::vector<Place> BatchLoader::State::order_of(uint32_t number) const {
  bool is_balanced = options.shuffle && options.sampler == Sampler::Balanced;
  std::vector<uint32_t> order(samples.size());
  std::iota(order.begin(), order.end(), 0U);
  if (options.shuffle && !is_balanced) order = epoch_order(samples, options.seed, number);
  std::erase_if(order, [&](uint32_t i) { return excluded.contains(samples.id(i)); });
  if (is_balanced) order = balanced_order(samples, order, options.seed, number);
  std::vector<uint32_t> seen(samples.size(), 0);
  std::vector<Place> places;
  places.reserve(order.size());
  for (uint32_t i : order) places.push_back({i, seen[i]++});
  return places;
}

void BatchLoader::State::start_epoch(uint32_t number) {
  std::lock_guard lock(mutex);
  std::vector<Place> order = order_of(number);
  epoch = number;
  items.clear();
  batch_begin.assign(1, 0);
  size_t at = 0;
  for (int size : batch_sizes(int64_t(order.size()), options.batch_size)) {
    size_t begin = at + size_t(int64_t(size) * options.rank / options.world);
    size_t end = at + size_t(int64_t(size) * (options.rank + 1) / options.world);
    items.insert(items.end(), order.begin() + int64_t(begin), order.begin() + int64_t(end));
    batch_begin.push_back(items.size());
    at += size_t(size);
  }
  next_item = next_item_batch = delivered = 0;
  open.clear();
  failure = nullptr;
  waited = 0;
  work_ready.notify_all();
}

bool BatchLoader::State::has_work() const {
  if (failure || next_item >= items.size()) return false;
  size_t batch = next_item_batch;
  while (batch_begin[batch + 1] <= next_item) ++batch;
  return batch < delivered + size_t(options.prefetch);
}

void BatchLoader::State::open_batch() {
  size_t index = delivered + open.size();
  size_t begin = batch_begin[index], size = batch_begin[index + 1] - begin;
  auto pending = std::make_shared<PendingBatch>();
  ImageBatch& batch = pending->batch;
  if (!spare.empty()) {
    batch = std::move(spare.back());
    spare.pop_back();
  }
  batch.images.resize(size * image_bytes(options.preprocessing));
  batch.labels.clear();
  batch.indices.clear();
  for (size_t i = begin; i < begin + size; ++i) batch.indices.push_back(items[i].sample);
  batch.holes.clear();
  batch.hole_indices.clear();
  batch.index = int64_t(index);
  batch.planned_size = int(size);
  pending->hole_at.resize(size);
  pending->is_known_hole.assign(size, false);
  pending->remaining = int(size);
  open.push_back(std::move(pending));
}

Task BatchLoader::State::take_task() {
  while (batch_begin[next_item_batch + 1] <= next_item) ++next_item_batch;
  while (delivered + open.size() <= next_item_batch) open_batch();
  Task task;
  task.pending = open[next_item_batch - delivered];
  task.place = items[next_item];
  task.slot = int(next_item - batch_begin[next_item_batch]);
  task.epoch = epoch;
  ++next_item;
  return task;
}

std::optional<SkippedFile> BatchLoader::State::prepare(const Task& task, Workbench& bench) const {
  const Sample sample = samples[task.place.sample];
  AugmentKey key{options.seed, task.epoch, sample.id, task.place.occurrence};
  size_t offset = size_t(task.slot) * image_bytes(options.preprocessing);
  uint8_t* out = task.pending->batch.images.data() + offset;
  Result<void> done;
  if (options.reader) {
    done = options.reader(task.place.sample, bench.image);
    if (done) bench.preparer.from_pixels(bench.image, key, out);
  } else {
    done = prepare_file(join_path(options.root, sample.path), key, bench, out);
  }
  if (!done) return skipped_file(sample.path, done.error());
  return std::nullopt;
}

void BatchLoader::State::finish(const Task& task, std::optional<SkippedFile> hole,
                                std::exception_ptr error) {
  bool is_abandoned = std::find(open.begin(), open.end(), task.pending) == open.end();
  if (is_abandoned) return;
  if (error && !failure) failure = error;
  task.pending->hole_at[size_t(task.slot)] = std::move(hole);
  --task.pending->remaining;
  if (failure || task.pending->remaining == 0) batch_ready.notify_all();
}

void BatchLoader::State::work(std::stop_token stop) {
  Workbench bench({options.preprocessing, options.augmentation});
  std::unique_lock lock(mutex);
  while (!stop.stop_requested() && work_ready.wait(lock, stop, [&] { return has_work(); })) {
    Task task = take_task();
    lock.unlock();
    std::optional<SkippedFile> hole;
    std::exception_ptr error;
    try {
      hole = prepare(task, bench);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    finish(task, std::move(hole), error);
  }
}

void BatchLoader::State::wait_for_front(std::unique_lock<std::mutex>& lock) {
  double start = monotonic_seconds();
  batch_ready.wait(lock, options.stop,
                   [&] { return failure || (!open.empty() && open.front()->remaining == 0); });
  waited += monotonic_seconds() - start;
  if (options.stop.stop_requested()) fail(ErrorKind::Interrupted, "stopped");
  if (failure) std::rethrow_exception(failure);
}

std::optional<ImageBatch> BatchLoader::State::next() {
  std::unique_lock lock(mutex);
  if (delivered + 1 >= batch_begin.size()) return std::nullopt;
  // A slice without images has no task that would open it.
  bool is_empty_slice = batch_begin[delivered] == batch_begin[delivered + 1];
  if (is_empty_slice && open.empty()) open_batch();
  wait_for_front(lock);
  std::shared_ptr<PendingBatch> pending = std::move(open.front());
  open.pop_front();
  ++delivered;
  for (size_t slot = 0; slot < pending->hole_at.size(); ++slot) {
    if (!pending->hole_at[slot]) continue;
    bool is_new = excluded.insert(samples.id(pending->batch.indices[slot])).second;
    pending->is_known_hole[slot] = !is_new;
  }
  lock.unlock();
  work_ready.notify_all();
  close_holes(*pending, samples, image_bytes(options.preprocessing));
  return std::move(pending->batch);
}

BatchLoader::BatchLoader(BatchLoaderOptions options, SampleList samples)
    : state_(std::make_unique<State>(std::move(options), std::move(samples))) {}

BatchLoader::~BatchLoader() = default;

void BatchLoader::start_epoch(uint32_t epoch) {
  state_->start_epoch(epoch);
}

std::optional<ImageBatch> BatchLoader::next() {
  return state_->next();
}

int64_t BatchLoader::batches() const {
  std::lock_guard lock(state_->mutex);
  return int64_t(state_->batch_begin.size()) - 1;
}

void BatchLoader::recycle(ImageBatch&& batch) {
  std::lock_guard lock(state_->mutex);
  if (state_->spare.size() <= size_t(state_->options.prefetch)) {
    state_->spare.push_back(std::move(batch));
  }
}

double BatchLoader::wait_seconds() const {
  std::lock_guard lock(state_->mutex);
  return state_->waited;
}

const SampleList& BatchLoader::samples() const {
  return state_->samples;
}

std::vector<uint64_t> BatchLoader::excluded() const {
  std::lock_guard lock(state_->mutex);
  std::vector<uint64_t> ids(state_->excluded.begin(), state_->excluded.end());
  std::sort(ids.begin(), ids.end());
  return ids;
}

void BatchLoader::exclude(std::span<const uint64_t> ids) {
  std::lock_guard lock(state_->mutex);
  state_->excluded.insert(ids.begin(), ids.end());
}

Result<std::vector<uint8_t>> load_for_inference(const std::string& path,
                                                const Preprocessing& rule) {
  Workbench bench({rule, Augmentation{.enabled = false}});
  std::vector<uint8_t> pixels(image_bytes(rule));
  if (Result<void> done = prepare_file(path, {}, bench, pixels.data()); !done) {
    return tl::make_unexpected(done.error());
  }
  return pixels;
}

}  // namespace pounce
