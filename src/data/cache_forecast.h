// What a cache will hold, computed from the sizes of the images and the limit before the first one
// is read: a pure function, so that nothing depends on which thread comes first.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/image_cache.h"

namespace pounce {

struct CacheCandidate {
  uint64_t id = 0;                // Sample::id
  int32_t width = 0, height = 0;  // of its pixels: as the scan found them, or reduced
  uint64_t file_bytes = 0;
  bool may_hold_pixels = false;  // pixels serve every epoch: see may_decode_scaled
  bool may_hold_bytes = true;    // false: pixels or nothing
};

struct PlannedImage {
  uint64_t id = 0;
  CachedKind kind = CachedKind::Bytes;
  bool may_hold_pixels = false;
};

struct CacheForecast {
  std::vector<PlannedImage> images;  // sorted by id; those that will be held
  int64_t candidates = 0;
  int64_t pixel_images = 0;  // of `images`
  uint64_t bytes = 0;        // of content, at most the limit

  // nullptr for an image that is not planned.
  const PlannedImage* find(uint64_t id) const;
  // "caches 1,812 of 2,000 images in 412 MB".
  std::string summary() const;
};

// In list order: first every image as it takes least room, as far as they fit, so that as few files
// as possible are read again; what is left of the limit then holds pixels in the place of bytes.
// Candidates with an id that came before are left out.
CacheForecast forecast_cache(std::span<const CacheCandidate> candidates, uint64_t limit);

}  // namespace pounce
