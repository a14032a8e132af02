#include "base/random.h"

#include <cmath>
#include <numbers>

#include <Random123/philox.h>

#include "base/error.h"

namespace pounce {

RandomStream::RandomStream(uint64_t seed, RandomPurpose purpose, uint32_t epoch, uint64_t id)
    : key_{uint32_t(seed), uint32_t(seed >> 32)},
      counter_{0, uint32_t(purpose) << 24 | epoch, uint32_t(id), uint32_t(id >> 32)} {
  POUNCE_ASSERT(epoch < (1U << 24));
}

uint32_t RandomStream::next_u32() {
  if (used_ == 4) {
    r123::Philox4x32::ctr_type counter = {{counter_[0], counter_[1], counter_[2], counter_[3]}};
    r123::Philox4x32::key_type key = {{key_[0], key_[1]}};
    auto out = r123::Philox4x32()(counter, key);
    for (size_t i = 0; i < 4; ++i) block_[i] = out[i];
    ++counter_[0];
    used_ = 0;
  }
  return block_[size_t(used_++)];
}

uint64_t RandomStream::next_u64() {
  uint64_t high = next_u32();
  return high << 32 | next_u32();
}

double RandomStream::uniform() {
  return next_u32() * 0x1p-32;
}

double RandomStream::uniform(double low, double high) {
  return low + (high - low) * uniform();
}

uint32_t RandomStream::below(uint32_t bound) {
  POUNCE_ASSERT(bound > 0);
  uint64_t product = uint64_t(next_u32()) * bound;
  uint32_t threshold = -bound % bound;
  while (uint32_t(product) < threshold) product = uint64_t(next_u32()) * bound;
  return uint32_t(product >> 32);
}

double RandomStream::normal() {
  if (has_spare_normal_) {
    has_spare_normal_ = false;
    return spare_normal_;
  }
  // 1 - u lies in (0, 1], so the logarithm is finite.
  double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
  double angle = 2.0 * std::numbers::pi * uniform();
  spare_normal_ = radius * std::sin(angle);
  has_spare_normal_ = true;
  return radius * std::cos(angle);
}

}  // namespace pounce
