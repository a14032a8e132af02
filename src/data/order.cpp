#include "data/order.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "base/error.h"
#include "base/random.h"

namespace pounce {
namespace {

// Sorts indices by key_of(index), equal keys by path, whatever their order was.
template <typename KeyOf>
void sort_by_key(const SampleList& samples, std::vector<uint32_t>& indices, const KeyOf& key_of) {
  struct Keyed {
    uint64_t key;
    uint32_t index;
  };
  std::vector<Keyed> keyed;
  keyed.reserve(indices.size());
  for (uint32_t i : indices) keyed.push_back({key_of(i), i});
  std::sort(keyed.begin(), keyed.end(), [&](const Keyed& a, const Keyed& b) {
    return a.key != b.key ? a.key < b.key : samples.is_path_less(a.index, b.index);
  });
  for (size_t i = 0; i < keyed.size(); ++i) indices[i] = keyed[i].index;
}

// Endless: one permutation of a class's images after the other.
class ClassCycle {
 public:
  ClassCycle(const SampleList& samples, std::vector<uint32_t> members, uint64_t seed)
      : samples_(samples), members_(std::move(members)), seed_(seed) {}

  uint32_t at(int64_t position) {
    int64_t size = int64_t(members_.size()), cycle = position / size;
    if (cycle != cycle_) permute(cycle);
    return members_[size_t(position % size)];
  }

 private:
  void permute(int64_t cycle) {
    constexpr int64_t kCycles = int64_t(1)
                                << 24;  // what a RandomStream counts; then from the start
    cycle_ = cycle;
    sort_by_key(samples_, members_, [&](uint32_t i) {
      RandomStream random(seed_, RandomPurpose::Balance, uint32_t(cycle % kCycles), samples_.id(i));
      return random.next_u64();
    });
  }

  const SampleList& samples_;
  std::vector<uint32_t> members_;
  uint64_t seed_;
  int64_t cycle_ = -1;
};

}  // namespace

std::vector<uint32_t> balanced_order(const SampleList& samples, std::span<const uint32_t> usable,
                                     uint64_t seed, uint32_t epoch) {
  std::map<int32_t, std::vector<uint32_t>> members;
  for (uint32_t i : usable) members[samples.label(i)].push_back(i);
  std::vector<ClassCycle> cycles;
  for (auto& [label, indices] : members) cycles.emplace_back(samples, std::move(indices), seed);
  // Places are counted through all epochs and dealt to the classes in turn.
  int64_t places = int64_t(usable.size()), classes = int64_t(cycles.size());
  std::vector<std::pair<uint64_t, uint32_t>> keyed;
  keyed.reserve(usable.size());
  for (int64_t i = 0; i < places; ++i) {
    int64_t place = int64_t(epoch) * places + i;
    uint32_t index = cycles[size_t(place % classes)].at(place / classes);
    RandomStream random(seed, RandomPurpose::Order, epoch, uint64_t(i));
    keyed.emplace_back(random.next_u64(), index);
  }
  std::stable_sort(keyed.begin(), keyed.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<uint32_t> order;
  order.reserve(keyed.size());
  for (const auto& [key, index] : keyed) order.push_back(index);
  return order;
}

std::vector<uint32_t> epoch_order(const SampleList& samples, uint64_t seed, uint32_t epoch) {
  std::vector<uint32_t> order(samples.size());
  std::iota(order.begin(), order.end(), 0U);
  sort_by_key(samples, order, [&](uint32_t i) {
    return RandomStream(seed, RandomPurpose::Order, epoch, samples.id(i)).next_u64();
  });
  return order;
}

std::vector<int> batch_sizes(int64_t n, int batch_size) {
  POUNCE_ASSERT(n >= 0 && batch_size >= 1);
  int64_t batches = (n + batch_size - 1) / batch_size;
  std::vector<int> sizes;
  sizes.reserve(size_t(batches));
  for (int64_t i = 0; i < batches; ++i) {
    sizes.push_back(int(n / batches + (i < n % batches ? 1 : 0)));
  }
  return sizes;
}

}  // namespace pounce
