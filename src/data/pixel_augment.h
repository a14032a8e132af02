// Random changes of the finished square: its colours, and a rectangle of it. Each draws from a
// stream of its own, a function of (seed, epoch, image, occurrence).
#pragma once

#include <array>
#include <cstdint>

namespace pounce {

// What identifies the random numbers of one image in one epoch.
struct AugmentKey {
  uint64_t seed = 0;
  uint32_t epoch = 0;
  uint64_t id = 0;          // Sample::id
  uint32_t occurrence = 0;  // the how-manieth time the image comes in this epoch, from 0

  // The id of a stream. The first occurrence has the image's own.
  uint64_t stream() const {
    // An odd step through all 64-bit numbers.
    constexpr uint64_t kStep = 0x9E3779B97F4A7C15;
    return id + occurrence * kStep;
  }
};

// Brightness, contrast and saturation, in this order, each by a factor of 1 - `strength` to 1 +
// `strength` (0 to 1). torchvision's ColorJitter on uint8, but for its random order and a rounding.
// `pixels`: [count, 3].
void jitter_colors(uint8_t* pixels, int64_t count, double strength, const AugmentKey& key);

// With `probability` fills a rectangle of 2 to 33 % of the square's area and a ratio of 0.3 to 3.3:
// torchvision's RandomErasing. `pixels`: [size, size, 3].
void erase_rectangle(uint8_t* pixels, int size, double probability,
                     const std::array<uint8_t, 3>& color, const AugmentKey& key);

}  // namespace pounce
