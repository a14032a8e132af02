// The images of one epoch in their order, cut into batches, and a rank's share of each batch. A
// pure function of what it is made from; four bytes an image, eight where images repeat.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_set>
#include <vector>

#include "data/dataset.h"

namespace pounce {

enum class Sampler {
  Uniform,   // every image once an epoch
  Balanced,  // every class equally often; an image several times an epoch or not at all
};

struct EpochRule {
  int batch_size = 64;
  bool shuffle = true;                 // false: the order of the list
  Sampler sampler = Sampler::Uniform;  // of a shuffled epoch
  uint64_t seed = 0;
  int rank = 0, world = 1;
};

class EpochPlan {
 public:
  EpochPlan() = default;
  // `excluded`: ids of images that are left out.
  EpochPlan(const EpochRule& rule, const SampleList& samples,
            const std::unordered_set<uint64_t>& excluded, uint32_t epoch);

  uint32_t epoch() const { return epoch_; }
  size_t batches() const { return begin_.size() - 1; }
  // Of this rank, in all batches. Batch b holds items begin(b) to begin(b + 1) - 1.
  size_t items() const { return samples_.size(); }
  size_t begin(size_t batch) const { return begin_[batch]; }
  size_t batch_items(size_t batch) const { return begin_[batch + 1] - begin_[batch]; }
  uint32_t sample(size_t item) const { return samples_[item]; }
  // The how-manieth time the image comes in this epoch, from 0, over all ranks.
  uint32_t occurrence(size_t item) const { return occurrences_.empty() ? 0 : occurrences_[item]; }

 private:
  void keep_share(const EpochRule& rule);

  uint32_t epoch_ = 0;
  std::vector<uint32_t> samples_, occurrences_;  // occurrences_: empty where all are 0
  std::vector<size_t> begin_{0};
};

}  // namespace pounce
