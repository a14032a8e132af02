#include "data/loader.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <list>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "base/system.h"
#include "data/loader_sizing.h"
#include "data/pending_batch.h"
#include "data/sample_reader.h"

namespace pounce {
namespace {

// Seconds after which the milliseconds of release_free_memory() do not matter.
constexpr double kLongEpoch = 1;

struct Task {
  std::shared_ptr<PendingBatch> pending;  // keeps the memory when the epoch is abandoned
  int slot = 0;
  uint32_t sample = 0;
  AugmentKey key;
};

struct Outcome {
  std::optional<SkippedFile> hole;
  std::exception_ptr error;
  StageSeconds stages;  // of this image
  double seconds = 0;   // by the clock
};

size_t image_bytes(const Preprocessing& rule) {
  return size_t(rule.image_size) * size_t(rule.image_size) * 3;
}

BatchLoaderOptions checked(BatchLoaderOptions options) {
  auto require = [](bool is_fine, const char* what) {
    if (!is_fine) fail(ErrorKind::InvalidArgument, "loader: {}", what);
  };
  require(options.batch_size >= 1, "batch_size must be at least 1");
  require(options.preprocessing.image_size >= 1, "image_size must be at least 1");
  require(options.preprocessing.resize_ratio > 0, "resize_ratio must be above 0");
  require(options.workers >= 0, "workers must be at least 0");
  require(options.prefetch >= 0, "prefetch must be at least 0");
  require(options.world >= 1 && options.rank >= 0 && options.rank < options.world,
          "rank must lie in 0..world-1");
  if (!options.staging) options.staging = plain_staging();
  return options;
}

EpochRule epoch_rule(const BatchLoaderOptions& options) {
  return {.batch_size = options.batch_size,
          .shuffle = options.shuffle,
          .sampler = options.sampler,
          .seed = options.seed,
          .rank = options.rank,
          .world = options.world};
}

// Of the largest batch any epoch can have.
size_t batch_capacity(const BatchLoaderOptions& options, size_t samples) {
  size_t share = size_t((options.batch_size - 1) / options.world) + 1;
  return std::min(share, samples) * image_bytes(options.preprocessing);
}

void add(StageSeconds& sum, const StageSeconds& more) {
  sum.read += more.read;
  sum.decode += more.decode;
  sum.transform += more.transform;
}

StageSeconds difference(const StageSeconds& after, const StageSeconds& before) {
  return {after.read - before.read, after.decode - before.decode,
          after.transform - before.transform};
}

}  // namespace

// One mutex guards everything below `mutex`; decoding happens outside it. Threads are started by
// the consumer, live while there are images to hand out, and leave by themselves.
struct BatchLoader::State {
  struct Worker {
    bool has_left = false;  // needs neither the mutex nor anything it guards
    std::jthread thread;
  };

  State(BatchLoaderOptions given, SampleList list)
      : options(checked(std::move(given))),
        samples(list),
        bytes(image_bytes(options.preprocessing)),
        capacity(batch_capacity(options, samples.size())),
        sizing(sizing_limits(options.workers, options.prefetch, options.batch_size, capacity)) {}
  ~State() { closing.request_stop(); }

  void start_epoch(uint32_t number);
  std::optional<ImageBatch> next();

  void start_threads();
  void start_thread();
  void run(Worker& self);
  void work(SampleReader& reader, std::unique_lock<std::mutex>& lock);
  bool has_items() const;
  bool has_work() const;
  bool must_leave() const;
  Task take_task();
  Outcome process(const Task& task, SampleReader& reader) const;
  void finish(PendingBatch& pending, int slot, Outcome&& outcome);
  void open_next_batch();
  void abandon_epoch();
  void end_epoch(std::unique_lock<std::mutex>& lock);
  bool epoch_was_long() const { return monotonic_seconds() - epoch_start > kLongEpoch; }
  void keep(ImageBatch&& batch);
  bool is_front_ready() const;
  void wait_for_front(std::unique_lock<std::mutex>& lock);

  const BatchLoaderOptions options;
  const SampleList samples;
  const size_t bytes, capacity;  // of an image, of the largest batch

  mutable std::mutex mutex;
  std::condition_variable_any work_ready, batch_ready;
  std::unordered_set<uint64_t> excluded;
  LoaderSizing sizing;
  EpochPlan plan;
  size_t next_item = 0;                            // to be handed to a thread
  size_t next_item_batch = 0;                      // the batch it belongs to
  size_t delivered = 0;                            // batches next() has returned
  std::deque<std::shared_ptr<PendingBatch>> open;  // from `delivered` on
  std::vector<ImageBatch> spare;                   // memory that is free
  std::exception_ptr failure;                      // of no particular image
  bool has_failed = false;                         // an image or more: nothing else is begun
  bool was_full = false;                           // a thread paused since the last batch
  double epoch_start = 0;                          // monotonic
  double waited = 0;                               // in this epoch
  double busy = 0;                                 // of all threads since the loader began
  StageSeconds stages;                             // of this epoch
  int running = 0;                                 // threads that have not left

  // Last, so that everything threads use outlives them.
  std::stop_source closing;
  std::stop_callback<std::function<void()>> on_stop{options.stop,
                                                    [this] { closing.request_stop(); }};
  std::list<Worker> workers;
};

void BatchLoader::State::start_epoch(uint32_t number) {
  std::lock_guard lock(mutex);
  abandon_epoch();
  plan = {};  // its memory is free before the next one's is needed
  plan = EpochPlan(epoch_rule(options), samples, excluded, number);
  next_item = next_item_batch = delivered = 0;
  failure = nullptr;
  has_failed = was_full = false;
  waited = 0;
  stages = {};
  epoch_start = monotonic_seconds();
  sizing.start_epoch(epoch_start, busy);
  keep_free_memory();
  start_threads();
  work_ready.notify_all();
}

void BatchLoader::State::abandon_epoch() {
  for (const std::shared_ptr<PendingBatch>& pending : std::exchange(open, {})) {
    pending->is_abandoned = true;
    if (pending->running == 0) keep(std::move(pending->batch));
  }
}

// There is nothing left to decode, so that all threads leave.
void BatchLoader::State::end_epoch(std::unique_lock<std::mutex>& lock) {
  if (workers.empty() && spare.empty()) return;
  bool was_long = epoch_was_long();
  lock.unlock();
  work_ready.notify_all();
  workers.clear();
  lock.lock();
  if (!was_long) return;
  // How many batches lay ready at once depends on timing; what an epoch leaves behind must not.
  spare.clear();
  release_free_memory();
}

void BatchLoader::State::start_threads() {
  workers.remove_if([](const Worker& worker) { return worker.has_left; });
  size_t wanted = std::min(size_t(sizing.threads()), plan.items() - next_item);
  while (size_t(running) < std::min(wanted, size_t(sizing.threads()))) start_thread();
}

void BatchLoader::State::start_thread() {
  Worker& worker = workers.emplace_back();
  try {
    worker.thread = std::jthread([this, &worker] { run(worker); });
    ++running;
  } catch (const std::system_error& error) {
    workers.pop_back();
    if (options.workers > 0 || running == 0) {
      fail_with_hint(ErrorKind::Io, "use fewer --workers, or raise the limit (ulimit -u)",
                     "the system started {} of {} decode threads: {}", running, sizing.threads(),
                     error.code().message());
    }
    sizing.limit_threads(running);
  }
}

void BatchLoader::State::run(Worker& self) {
  std::optional<SampleReader> reader;
  std::unique_lock lock(mutex, std::defer_lock);
  try {
    reader.emplace(options, samples, closing.get_token());
    lock.lock();
    work(*reader, lock);
  } catch (...) {
    if (!lock.owns_lock()) lock.lock();
    if (!failure) failure = std::current_exception();
    batch_ready.notify_all();
  }
  --running;
  bool gives_back = !has_items() && epoch_was_long();  // not while others go on
  self.has_left = true;
  lock.unlock();
  reader.reset();
  if (gives_back) release_thread_memory();
}

void BatchLoader::State::work(SampleReader& reader, std::unique_lock<std::mutex>& lock) {
  std::stop_token stop = closing.get_token();
  while (true) {
    if (has_items() && !has_work()) was_full = true;
    work_ready.wait(lock, stop, [this] { return has_work() || must_leave(); });
    if (stop.stop_requested() || must_leave()) return;
    Task task = take_task();
    lock.unlock();
    Outcome outcome = process(task, reader);
    lock.lock();
    finish(*task.pending, task.slot, std::move(outcome));
  }
}

bool BatchLoader::State::has_items() const {
  return !failure && !has_failed && next_item < plan.items();
}

bool BatchLoader::State::has_work() const {
  if (!has_items()) return false;
  size_t batch = next_item_batch;
  while (plan.begin(batch + 1) <= next_item) ++batch;
  return batch < delivered + size_t(sizing.ahead());
}

bool BatchLoader::State::must_leave() const {
  return !has_items() || running > sizing.threads();
}

void BatchLoader::State::open_next_batch() {
  ImageBatch memory;
  if (!spare.empty()) {
    memory = std::move(spare.back());
    spare.pop_back();
  }
  open.push_back(open_batch(plan, delivered + open.size(), std::move(memory), options.staging,
                            capacity, bytes));
}

Task BatchLoader::State::take_task() {
  while (plan.begin(next_item_batch + 1) <= next_item) ++next_item_batch;
  while (delivered + open.size() <= next_item_batch) open_next_batch();
  Task task;
  task.pending = open[next_item_batch - delivered];
  task.slot = int(next_item - plan.begin(next_item_batch));
  task.sample = plan.sample(next_item);
  task.key = {options.seed, plan.epoch(), samples.id(task.sample), plan.occurrence(next_item)};
  ++task.pending->running;
  ++next_item;
  return task;
}

Outcome BatchLoader::State::process(const Task& task, SampleReader& reader) const {
  Outcome outcome;
  StageSeconds before = reader.seconds();
  double start = monotonic_seconds();
  try {
    uint8_t* slot = task.pending->batch.images.data() + size_t(task.slot) * bytes;
    outcome.hole = reader.read(task.sample, task.key, slot);
  } catch (...) {
    outcome.error = std::current_exception();
  }
  outcome.seconds = monotonic_seconds() - start;
  outcome.stages = difference(reader.seconds(), before);
  return outcome;
}

void BatchLoader::State::finish(PendingBatch& pending, int slot, Outcome&& outcome) {
  busy += outcome.seconds;
  --pending.running;
  if (pending.is_abandoned) {
    if (pending.running == 0) keep(std::move(pending.batch));
    return;
  }
  add(stages, outcome.stages);
  if (outcome.error) {
    pending.note_error(slot, std::move(outcome.error));
    has_failed = true;
  } else {
    --pending.remaining;
    if (outcome.hole) pending.holes.push_back({slot, std::move(*outcome.hole)});
  }
  if (pending.is_ready()) batch_ready.notify_all();
}

bool BatchLoader::State::is_front_ready() const {
  return failure || (!open.empty() && open.front()->is_ready());
}

void BatchLoader::State::wait_for_front(std::unique_lock<std::mutex>& lock) {
  double start = monotonic_seconds();
  std::stop_token stop = closing.get_token();
  auto is_ready = [this] { return is_front_ready(); };
  std::chrono::duration<double> patience(LoaderSizing::kPatience);
  while (sizing.can_grow() && has_work()) {
    if (batch_ready.wait_for(lock, patience, is_ready) || stop.stop_requested()) break;
    sizing.grow();
    start_threads();
  }
  batch_ready.wait(lock, stop, is_ready);
  double now = monotonic_seconds();
  waited += now - start;
  if (stop.stop_requested()) fail(ErrorKind::Interrupted, "stopped");
  if (failure) std::rethrow_exception(failure);
  if (open.front()->error) std::rethrow_exception(open.front()->error);
  auto end =
      std::find_if_not(open.begin(), open.end(), [](const auto& p) { return p->is_ready(); });
  sizing.count({.now = now,
                .waited = now - start,
                .busy = busy,
                .was_full = std::exchange(was_full, false),
                .ready = int(end - open.begin())});
}

std::optional<ImageBatch> BatchLoader::State::next() {
  std::unique_lock lock(mutex);
  if (delivered >= plan.batches()) {
    end_epoch(lock);
    return std::nullopt;
  }
  // A slice without images has no task that would open it.
  if (plan.batch_items(delivered) == 0 && open.empty()) open_next_batch();
  wait_for_front(lock);
  std::shared_ptr<PendingBatch> pending = std::move(open.front());
  open.pop_front();
  ++delivered;
  pending->settle_holes(samples, excluded);
  start_threads();
  lock.unlock();
  work_ready.notify_all();
  return close_batch(std::move(*pending), samples, bytes);
}

void BatchLoader::State::keep(ImageBatch&& batch) {
  // With the one at the consumer that is one more than batches ahead.
  if (spare.size() + open.size() <= size_t(sizing.ahead())) spare.push_back(std::move(batch));
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
  return int64_t(state_->plan.batches());
}

void BatchLoader::recycle(ImageBatch&& batch) {
  std::lock_guard lock(state_->mutex);
  state_->keep(std::move(batch));
}

double BatchLoader::wait_seconds() const {
  std::lock_guard lock(state_->mutex);
  return state_->waited;
}

StageSeconds BatchLoader::stage_seconds() const {
  std::lock_guard lock(state_->mutex);
  return state_->stages;
}

int BatchLoader::threads() const {
  std::lock_guard lock(state_->mutex);
  return state_->sizing.threads();
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

const char* slowest_stage(const StageSeconds& seconds) {
  if (seconds.read >= std::max(seconds.decode, seconds.transform)) return "read";
  return seconds.decode >= seconds.transform ? "decode" : "transform";
}

Result<std::vector<uint8_t>> load_for_inference(const std::string& path,
                                                const Preprocessing& rule) {
  std::vector<uint8_t> file, pixels(image_bytes(rule));
  if (Result<void> read = read_image_file(path, {}, file); !read) {
    return tl::make_unexpected(read.error());
  }
  Preparer preparer({.preprocessing = rule, .augmentation = {.enabled = false}});
  if (Result<void> done = preparer.from_bytes(file, {}, pixels.data()); !done) {
    return tl::make_unexpected(done.error());
  }
  return pixels;
}

}  // namespace pounce
