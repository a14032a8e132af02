#include "data/cache_forecast.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "base/text.h"

namespace pounce {
namespace {

constexpr auto kById = [](const PlannedImage& a, const PlannedImage& b) { return a.id < b.id; };

uint64_t pixel_bytes(const CacheCandidate& image) {
  return uint64_t(image.width) * uint64_t(image.height) * 3;
}

// Because they are smaller than the file, or nothing else will do.
bool begins_as_pixels(const CacheCandidate& image) {
  if (!image.may_hold_bytes) return true;
  return image.may_hold_pixels && pixel_bytes(image) <= image.file_bytes;
}

// The first candidate of each id, in list order.
std::vector<size_t> distinct(std::span<const CacheCandidate> candidates) {
  std::vector<size_t> order(candidates.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return candidates[a].id < candidates[b].id; });
  auto end = std::unique(order.begin(), order.end(),
                         [&](size_t a, size_t b) { return candidates[a].id == candidates[b].id; });
  order.erase(end, order.end());
  std::sort(order.begin(), order.end());
  return order;
}

}  // namespace

const PlannedImage* CacheForecast::find(uint64_t id) const {
  auto at = std::lower_bound(images.begin(), images.end(), PlannedImage{.id = id}, kById);
  return at != images.end() && at->id == id ? &*at : nullptr;
}

std::string CacheForecast::summary() const {
  return fmt::format("caches {} of {} in {}", group_digits(int64_t(images.size())),
                     count_of(candidates, "image", "images"), human_bytes(int64_t(bytes)));
}

CacheForecast forecast_cache(std::span<const CacheCandidate> candidates, uint64_t limit) {
  CacheForecast forecast;
  std::vector<size_t> held;
  for (size_t i : distinct(candidates)) {
    ++forecast.candidates;
    const CacheCandidate& image = candidates[i];
    uint64_t least = begins_as_pixels(image) ? pixel_bytes(image) : image.file_bytes;
    if (least > limit - forecast.bytes) continue;
    forecast.bytes += least;
    held.push_back(i);
  }
  for (size_t i : held) {
    const CacheCandidate& image = candidates[i];
    PlannedImage planned{image.id, CachedKind::Bytes, image.may_hold_pixels};
    if (begins_as_pixels(image)) {
      planned.kind = CachedKind::Pixels;
    } else if (image.may_hold_pixels &&
               pixel_bytes(image) - image.file_bytes <= limit - forecast.bytes) {
      planned.kind = CachedKind::Pixels;
      forecast.bytes += pixel_bytes(image) - image.file_bytes;
    }
    if (planned.kind == CachedKind::Pixels) ++forecast.pixel_images;
    forecast.images.push_back(planned);
  }
  std::sort(forecast.images.begin(), forecast.images.end(), kById);
  return forecast;
}

}  // namespace pounce
