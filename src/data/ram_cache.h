// The image cache in the memory of this process.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "data/cache_forecast.h"
#include "data/image_cache.h"

namespace pounce {

// Holds what the forecast plans, and never more than `limit` bytes of content: files may have
// changed since the forecast. Images are immutable and live as long as somebody uses them.
class RamCache final : public ImageCache {
 public:
  RamCache(CacheForecast forecast, uint64_t limit);

  bool may_hold(uint64_t id) const override;
  std::optional<CachedImage> find(uint64_t id, const FileStamp& stamp) override;
  bool wants(uint64_t id, int width, int height, uint64_t file_bytes,
             CachedKind* kind) const override;
  void store(uint64_t id, const FileStamp& stamp, const CachedImage& image) override;

  // Bytes of content held, without what only readers still use.
  uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  int64_t images() const { return images_.load(std::memory_order_relaxed); }
  uint64_t limit() const { return limit_; }

 private:
  struct Entry;
  struct Slot {
    std::shared_ptr<const Entry> entry;  // guarded by lock_of(slot)
  };

  // The position of `id` in the forecast; nothing where it is not planned.
  std::optional<size_t> slot_of(uint64_t id) const;
  std::mutex& lock_of(size_t slot) const { return locks_[slot % kLocks]; }
  static std::shared_ptr<const Entry> copy(const FileStamp& stamp, const CachedImage& image);
  // Takes `bytes` of the limit. False where they do not fit.
  bool reserve(uint64_t bytes);

  static constexpr size_t kLocks = 64;

  const CacheForecast forecast_;
  const uint64_t limit_;
  std::vector<Slot> slots_;  // one for each image of the forecast
  mutable std::array<std::mutex, kLocks> locks_;
  std::atomic<uint64_t> bytes_{0};
  std::atomic<int64_t> images_{0};
};

}  // namespace pounce
