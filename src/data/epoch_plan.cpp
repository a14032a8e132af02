#include "data/epoch_plan.h"

#include <algorithm>
#include <numeric>

#include "data/order.h"

namespace pounce {
namespace {

std::vector<uint32_t> count_occurrences(std::span<const uint32_t> order, size_t samples) {
  std::vector<uint32_t> seen(samples, 0), occurrences;
  occurrences.reserve(order.size());
  for (uint32_t i : order) occurrences.push_back(seen[i]++);
  return occurrences;
}

}  // namespace

EpochPlan::EpochPlan(const EpochRule& rule, const SampleList& samples,
                     const std::unordered_set<uint64_t>& excluded, uint32_t epoch)
    : epoch_(epoch) {
  bool is_balanced = rule.shuffle && rule.sampler == Sampler::Balanced;
  if (rule.shuffle && !is_balanced) {
    samples_ = epoch_order(samples, rule.seed, epoch);
  } else {
    samples_.resize(samples.size());
    std::iota(samples_.begin(), samples_.end(), 0U);
  }
  if (!excluded.empty()) {
    std::erase_if(samples_, [&](uint32_t i) { return excluded.contains(samples.id(i)); });
  }
  if (is_balanced) {
    samples_ = balanced_order(samples, samples_, rule.seed, epoch);
    occurrences_ = count_occurrences(samples_, samples.size());
  }
  keep_share(rule);
}

// Of every batch the part that is this rank's; what is kept moves to the front.
void EpochPlan::keep_share(const EpochRule& rule) {
  size_t at = 0, kept = 0;
  for (int size : batch_sizes(int64_t(samples_.size()), rule.batch_size)) {
    size_t from = at + size_t(int64_t(size) * rule.rank / rule.world);
    size_t to = at + size_t(int64_t(size) * (rule.rank + 1) / rule.world);
    for (size_t i = from; i < to; ++i, ++kept) {
      samples_[kept] = samples_[i];
      if (!occurrences_.empty()) occurrences_[kept] = occurrences_[i];
    }
    begin_.push_back(kept);
    at += size_t(size);
  }
  samples_.resize(kept);
  if (!occurrences_.empty()) occurrences_.resize(kept);
}

}  // namespace pounce
