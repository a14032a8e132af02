#include "data/order.h"

#include <algorithm>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/checksum.h"

namespace pounce {
namespace {

using testing::ElementsAre;

std::vector<Sample> make_samples(int n) {
  std::vector<Sample> samples;
  for (int i = 0; i < n; ++i) {
    std::string path = "cat/" + std::to_string(i) + ".jpg";
    samples.push_back({path, 0, xxh3_64(path), 8, 8});
  }
  return samples;
}

std::vector<std::string> paths_in_order(const std::vector<Sample>& samples, uint64_t seed,
                                        uint32_t epoch) {
  std::vector<std::string> paths;
  for (uint32_t i : epoch_order(samples, seed, epoch)) paths.push_back(samples[i].path);
  return paths;
}

TEST(EpochOrder, IsAPermutationThatChangesWithSeedAndEpoch) {
  std::vector<Sample> samples = make_samples(100);
  std::vector<uint32_t> order = epoch_order(samples, 1, 0);
  EXPECT_NE(order, epoch_order(samples, 1, 1));
  EXPECT_NE(order, epoch_order(samples, 2, 0));
  EXPECT_EQ(order, epoch_order(samples, 1, 0));
  std::sort(order.begin(), order.end());
  std::vector<uint32_t> all(100);
  std::iota(all.begin(), all.end(), 0U);
  EXPECT_EQ(order, all);
}

TEST(EpochOrder, DependsOnTheSetAndNotOnItsSequence) {
  std::vector<Sample> samples = make_samples(50), reversed(samples.rbegin(), samples.rend());
  EXPECT_EQ(paths_in_order(samples, 7, 3), paths_in_order(reversed, 7, 3));
}

TEST(EpochOrder, RemovingASampleLeavesTheOthers) {
  std::vector<Sample> samples = make_samples(50);
  std::vector<std::string> expected = paths_in_order(samples, 7, 3);
  std::erase(expected, "cat/20.jpg");
  samples.erase(samples.begin() + 20);
  EXPECT_EQ(paths_in_order(samples, 7, 3), expected);
}

TEST(BatchSizes, DifferByAtMostOneAndNeverExceed) {
  EXPECT_THAT(batch_sizes(33, 32), ElementsAre(17, 16));
  EXPECT_THAT(batch_sizes(5, 64), ElementsAre(5));
  EXPECT_THAT(batch_sizes(64, 64), ElementsAre(64));
  EXPECT_THAT(batch_sizes(0, 8), ElementsAre());
  for (int n = 1; n < 200; ++n) {
    for (int batch : {1, 2, 7, 32}) {
      std::vector<int> sizes = batch_sizes(n, batch);
      auto [least, most] = std::minmax_element(sizes.begin(), sizes.end());
      EXPECT_LE(*most - *least, 1);
      EXPECT_LE(*most, batch);
      EXPECT_GE(*least, 1);
      EXPECT_EQ(std::accumulate(sizes.begin(), sizes.end(), 0), n);
      EXPECT_TRUE(std::is_sorted(sizes.rbegin(), sizes.rend()));
    }
  }
}

}  // namespace
}  // namespace pounce
