#include "data/ram_cache.h"

#include <new>
#include <utility>

namespace pounce {

struct RamCache::Entry {
  FileStamp stamp;
  CachedKind kind = CachedKind::Bytes;
  int width = 0, height = 0;
  std::vector<uint8_t> data;
};

RamCache::RamCache(CacheForecast forecast, uint64_t limit)
    : forecast_(std::move(forecast)), limit_(limit), slots_(forecast_.images.size()) {}

std::optional<size_t> RamCache::slot_of(uint64_t id) const {
  const PlannedImage* planned = forecast_.find(id);
  if (planned == nullptr) return std::nullopt;
  return size_t(planned - forecast_.images.data());
}

bool RamCache::may_hold(uint64_t id) const {
  std::optional<size_t> slot = slot_of(id);
  if (!slot) return false;
  std::lock_guard lock(lock_of(*slot));
  return slots_[*slot].entry != nullptr;
}

std::optional<CachedImage> RamCache::find(uint64_t id, const FileStamp& stamp) {
  std::optional<size_t> slot = slot_of(id);
  if (!slot) return std::nullopt;
  std::shared_ptr<const Entry> entry;
  {
    std::lock_guard lock(lock_of(*slot));
    entry = slots_[*slot].entry;
  }
  if (!entry || entry->stamp != stamp) return std::nullopt;
  return CachedImage{entry->kind, entry->data, entry->width, entry->height, entry};
}

bool RamCache::wants(uint64_t id, int width, int height, uint64_t file_bytes,
                     CachedKind* kind) const {
  const PlannedImage* planned = forecast_.find(id);
  if (planned == nullptr) return false;
  *kind = planned->kind;
  bool holds_pixels = *kind == CachedKind::Pixels;
  uint64_t needed = holds_pixels ? uint64_t(width) * uint64_t(height) * 3 : file_bytes;
  return needed <= limit_ - bytes();
}

bool RamCache::reserve(uint64_t bytes) {
  uint64_t used = bytes_.load(std::memory_order_relaxed);
  do {
    if (bytes > limit_ - used) return false;
  } while (!bytes_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
  return true;
}

// Nothing where the machine has no memory left: that must not end a run which needs no cache.
std::shared_ptr<const RamCache::Entry> RamCache::copy(const FileStamp& stamp,
                                                      const CachedImage& image) {
  try {
    auto entry = std::make_shared<Entry>();
    entry->stamp = stamp;
    entry->kind = image.kind;
    entry->width = image.width;
    entry->height = image.height;
    entry->data.assign(image.data.begin(), image.data.end());
    return entry;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

void RamCache::store(uint64_t id, const FileStamp& stamp, const CachedImage& image) {
  std::optional<size_t> slot = slot_of(id);
  if (!slot) return;
  std::shared_ptr<const Entry> old;
  {
    std::lock_guard lock(lock_of(*slot));
    old = std::exchange(slots_[*slot].entry, nullptr);
  }
  if (old) {
    bytes_.fetch_sub(old->data.size(), std::memory_order_relaxed);
    images_.fetch_sub(1, std::memory_order_relaxed);
  }
  if (!reserve(image.data.size())) return;
  std::shared_ptr<const Entry> entry = copy(stamp, image);
  if (!entry) {
    bytes_.fetch_sub(image.data.size(), std::memory_order_relaxed);
    return;
  }
  {
    std::lock_guard lock(lock_of(*slot));
    old = std::exchange(slots_[*slot].entry, std::move(entry));
  }
  images_.fetch_add(1, std::memory_order_relaxed);
  if (!old) return;
  // Another thread stored the same image meanwhile.
  bytes_.fetch_sub(old->data.size(), std::memory_order_relaxed);
  images_.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace pounce
