// The order of an epoch and its cut into batches: pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/dataset.h"

namespace pounce {

// A permutation of 0..n-1: samples sorted by a Philox key of (seed, epoch, id), ties by path. The
// sequence of the list does not matter, and removing a sample leaves the others in their order.
std::vector<uint32_t> epoch_order(std::span<const Sample> samples, uint64_t seed, uint32_t epoch);

// ceil(n / batch_size) sizes that differ by at most one, larger ones first, none above batch_size.
// Empty for n = 0. batch_size >= 1.
std::vector<int> batch_sizes(int64_t n, int batch_size);

}  // namespace pounce
