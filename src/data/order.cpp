#include "data/order.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "base/random.h"

namespace pounce {

std::vector<uint32_t> epoch_order(std::span<const Sample> samples, uint64_t seed, uint32_t epoch) {
  std::vector<uint64_t> keys(samples.size());
  for (size_t i = 0; i < samples.size(); ++i) {
    keys[i] = RandomStream(seed, RandomPurpose::Order, epoch, samples[i].id).next_u64();
  }
  std::vector<uint32_t> order(samples.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return keys[a] != keys[b] ? keys[a] < keys[b] : samples[a].path < samples[b].path;
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
