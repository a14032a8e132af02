// Batches of uint8 images, decoded ahead by worker threads and handed over in order.
// Every byte depends on (samples, options, epoch) alone: never on workers or timing. A file whose
// body proves damaged leaves a hole: its batch is one image smaller and later epochs leave it out.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/transform.h"

namespace pounce {

struct ImageBatch {
  std::vector<uint8_t> images;         // [n, image_size, image_size, 3]
  std::vector<int32_t> labels;         // [n]
  std::vector<uint32_t> indices;       // [n], into the sample list, in the order of the epoch
  std::vector<SkippedFile> holes;      // images this batch should have had; each file once a run
  std::vector<uint32_t> hole_indices;  // the same, into the sample list
  int64_t index = 0;                   // position in the epoch, from 0
  int planned_size = 0;                // n and what is missing

  int size() const { return int(labels.size()); }
};

enum class Sampler {
  Uniform,   // every image once an epoch
  Balanced,  // every class equally often; an image several times an epoch or not at all
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
  int workers = 0;          // 0: usable_cores()
  int prefetch = 3;         // batches decoded ahead; at least 1
  int rank = 0, world = 1;  // this rank's slice of each batch
  std::stop_token stop{};
  ImageReader reader{};  // instead of the file `path` below `root`
};

class BatchLoader {
 public:
  // Starts the workers. Throws InvalidArgument for options out of range.
  BatchLoader(BatchLoaderOptions options, SampleList samples);
  BatchLoader(const BatchLoader&) = delete;
  BatchLoader& operator=(const BatchLoader&) = delete;
  // Abandons what is in flight and joins.
  ~BatchLoader();

  // Begins an epoch; abandons what is left of the one before. `epoch` from 0, below 2^24.
  void start_epoch(uint32_t epoch);
  // Batches of the epoch in progress.
  int64_t batches() const;
  // The next batch in order, nullopt at the end of the epoch. Rethrows what failed in a worker;
  // throws Interrupted when the stop token was set.
  std::optional<ImageBatch> next();
  // Gives the memory of a batch back for reuse. Optional.
  void recycle(ImageBatch&& batch);

  // Time next() waited for workers in this epoch.
  double wait_seconds() const;
  const SampleList& samples() const;

  // Ids left out from the next start_epoch on: holes met so far and those given to exclude().
  std::vector<uint64_t> excluded() const;
  void exclude(std::span<const uint64_t> ids);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// One file for prediction: read, decode, evaluation rule. Kinds Io, BadData, Unsupported.
Result<std::vector<uint8_t>> load_for_inference(const std::string& path, const Preprocessing& rule);

}  // namespace pounce
