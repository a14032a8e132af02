// The image cache of a training run: what --cache and --cache-limit ask for, and under `auto` when
// one begins.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/cache_forecast.h"
#include "data/dataset.h"
#include "data/prepare.h"
#include "pounce/train.h"

namespace pounce {

class DiskCache;

// How the images of a list are prepared: what decides whether their pixels can be kept.
struct CachedList {
  SampleList samples;
  PrepareRule rule;
};

class RunCache {
 public:
  // `lists`: of the loaders that cache() is for, most used first.
  RunCache(const TrainConfig& config, std::string root, std::vector<CachedList> lists);
  ~RunCache();
  RunCache(const RunCache&) = delete;
  RunCache& operator=(const RunCache&) = delete;

  // For the loaders; holds nothing before start(). Null where the run keeps nothing.
  std::shared_ptr<ImageCache> cache() const;

  // Begins what the configuration asks for. `reserved_bytes` of memory the run has still to take.
  // Returns notes for the reader; a cache that cannot be had is one of them, never an error.
  std::vector<std::string> start(int64_t reserved_bytes);
  // How long the steps of an epoch waited for images.
  struct Wait {
    double seconds = 0;
    double fraction = 0;     // of the training time
    std::string data_limit;  // the stage to blame: "read", "decode", "transform"; "" where unknown
  };
  // The note where a cache begins because of it, or takes no more.
  std::optional<std::string> after_epoch(const Wait& wait);

 private:
  class LateCache;

  std::vector<CacheCandidate> candidates() const;
  std::string start_ram(uint64_t limit);
  std::string start_disk();
  std::string start_shrunk();

  const TrainConfig& config_;
  std::string root_;
  std::vector<CachedList> lists_;
  std::shared_ptr<LateCache> late_;
  DiskCache* disk_ = nullptr;  // owned by late_
  bool has_named_write_error_ = false;
};

}  // namespace pounce
