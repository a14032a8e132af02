// Batches of uint8 images, decoded ahead by threads and handed over in order. How many threads and
// how far ahead follows from what is measured; every byte depends on (samples, options, epoch)
// alone, never on threads or timing. A file whose body proves damaged leaves a hole: its batch is
// one image smaller and later epochs leave it out.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "base/staging.h"
#include "data/epoch_plan.h"
#include "data/image_cache.h"
#include "data/prepare.h"

namespace pounce {

struct ImageBatch {
  StagingBuffer images;                // [n, image_size, image_size, 3]
  std::vector<int32_t> labels;         // [n]
  std::vector<uint32_t> indices;       // [n], into the sample list, in the order of the epoch
  std::vector<SkippedFile> holes;      // images this batch should have had; each file once a run
  std::vector<uint32_t> hole_indices;  // the same, into the sample list
  int64_t index = 0;                   // position in the epoch, from 0
  int planned_size = 0;                // n and what is missing

  int size() const { return int(labels.size()); }
};

// Decodes sample `index` into `image`. Called by several workers at once. An error makes a hole, an
// exception ends the epoch.
using ImageReader = std::function<Result<void>(uint32_t index, Image& image)>;

struct BatchLoaderOptions {
  std::string root;
  int batch_size = 64;
  Preprocessing preprocessing{};
  Augmentation augmentation{};
  bool shuffle = true;                 // false: the order of the list
  Sampler sampler = Sampler::Uniform;  // of a shuffled epoch
  uint64_t seed = 0;
  int workers = 0;          // decode threads; 0: as many as prove useful, up to usable_cores()
  int prefetch = 0;         // batches decoded ahead; 0: as many as prove useful
  int rank = 0, world = 1;  // this rank's slice of each batch
  std::stop_token stop{};
  ImageReader reader{};                      // instead of the file `path` below `root`
  std::shared_ptr<StagingMemory> staging{};  // what batches lie in; null: plain memory
  std::shared_ptr<ImageCache> cache{};       // of files; null: every image is read every time
};

// For one consumer: a single thread calls its methods.
class BatchLoader {
 public:
  // Throws InvalidArgument for options out of range.
  BatchLoader(BatchLoaderOptions options, SampleList samples);
  BatchLoader(const BatchLoader&) = delete;
  BatchLoader& operator=(const BatchLoader&) = delete;
  // Abandons what is in flight and joins: a file that is being read is given up, a picture that is
  // being decoded is waited for.
  ~BatchLoader();

  // Begins an epoch and its threads; abandons what is left of the one before. `epoch` from 0, below
  // 2^24. Throws Config when the system gives no thread.
  void start_epoch(uint32_t epoch);
  // Batches of the epoch in progress.
  int64_t batches() const;
  // The next batch in order, nullopt at the end of the epoch. Rethrows what was thrown for an image
  // of this batch; throws Interrupted when the stop token was set.
  std::optional<ImageBatch> next();
  // Gives the memory of a batch back for reuse. Optional.
  void recycle(ImageBatch&& batch);

  // Of this epoch: what next() waited, and what the threads took for its images, in all.
  double wait_seconds() const;
  StageSeconds stage_seconds() const;
  // Decode threads wanted at present.
  int threads() const;
  const SampleList& samples() const;

  // Ids left out from the next start_epoch on: holes met so far and those given to exclude().
  std::vector<uint64_t> excluded() const;
  void exclude(std::span<const uint64_t> ids);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// "read", "decode" or "transform": where the threads spent the most time.
const char* slowest_stage(const StageSeconds& seconds);

// One file for prediction: read, decode, evaluation rule. Kinds Io, BadData, Unsupported.
Result<std::vector<uint8_t>> load_for_inference(const std::string& path, const Preprocessing& rule);

}  // namespace pounce
