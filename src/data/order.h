// The order of an epoch and its cut into batches: pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/sample_list.h"

namespace pounce {

// A permutation of 0..n-1: samples sorted by a Philox key of (seed, epoch, id), ties by path. The
// sequence of the list does not matter, and removing a sample leaves the others in their order.
std::vector<uint32_t> epoch_order(const SampleList& samples, uint64_t seed, uint32_t epoch);

// The same number of places for every class, or one more: `usable.size()` indices out of `usable`,
// shuffled. The images of a class come in permutations, one after the other and on from epoch to
// epoch: one may come several times in an epoch or not at all, but over all epochs so far the
// counts within a class differ by at most one. A function of (samples, usable, seed, epoch).
std::vector<uint32_t> balanced_order(const SampleList& samples, std::span<const uint32_t> usable,
                                     uint64_t seed, uint32_t epoch);

// ceil(n / batch_size) sizes that differ by at most one, larger ones first, none above batch_size.
// Empty for n = 0. batch_size >= 1.
std::vector<int> batch_sizes(int64_t n, int batch_size);

}  // namespace pounce
