// Counter-based random numbers: every number is a pure function of (seed, purpose, epoch, id,
// draw), so results never depend on threads, workers or history. Source: Salmon et al. 2011,
// "Parallel random numbers: as easy as 1, 2, 3"; Philox4x32-10.
#pragma once

#include <array>
#include <cstdint>

namespace pounce {

// What a stream of random numbers is for; equal ids under different purposes are independent.
enum class RandomPurpose : uint8_t {
  Init = 1,
  Order = 2,
  Augment = 3,
  Split = 4,
  Balance = 5,
  ColorJitter = 6,
  Erasing = 7,
  Test = 15
};

class RandomStream {
 public:
  // `epoch` < 2^24. `id`: image, tensor or whatever the purpose counts.
  RandomStream(uint64_t seed, RandomPurpose purpose, uint32_t epoch, uint64_t id);

  uint32_t next_u32();
  uint64_t next_u64();
  // In [0, 1), 32 random bits.
  double uniform();
  double uniform(double low, double high);
  // In [0, bound); bound > 0. Unbiased (Lemire 2019).
  uint32_t below(uint32_t bound);
  // Standard normal (Box-Muller).
  double normal();

 private:
  std::array<uint32_t, 2> key_;
  std::array<uint32_t, 4> counter_;
  std::array<uint32_t, 4> block_{};
  int used_ = 4;
  double spare_normal_ = 0;
  bool has_spare_normal_ = false;
};

}  // namespace pounce
