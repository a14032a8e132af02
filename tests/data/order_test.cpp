#include "data/order.h"

#include <algorithm>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/checksum.h"

namespace pounce {
namespace {

using testing::ElementsAre;

// Images of the given classes: labels 0, 1, ... with so many each.
std::vector<Sample> make_classes(const std::vector<int>& counts) {
  std::vector<Sample> samples;
  for (size_t label = 0; label < counts.size(); ++label) {
    for (int i = 0; i < counts[label]; ++i) {
      std::string path = std::to_string(label) + "/" + std::to_string(i) + ".jpg";
      samples.push_back({path, int32_t(label), xxh3_64(path), 8, 8});
    }
  }
  return samples;
}

std::vector<uint32_t> all_of(const std::vector<Sample>& samples) {
  std::vector<uint32_t> all(samples.size());
  std::iota(all.begin(), all.end(), 0U);
  return all;
}

std::vector<Sample> make_samples(int n) {
  std::vector<Sample> samples;
  for (int i = 0; i < n; ++i) {
    std::string path = "cat/" + std::to_string(i) + ".jpg";
    samples.push_back({path, 0, xxh3_64(path), 8, 8});
  }
  return samples;
}

std::vector<std::string> paths_in_order(const SampleList& samples, uint64_t seed, uint32_t epoch) {
  std::vector<std::string> paths;
  for (uint32_t i : epoch_order(samples, seed, epoch)) paths.push_back(samples.path(i));
  return paths;
}

TEST(BalancedOrder, ClassesGetTheSameNumberOfPlacesOrOneMore) {
  std::vector<Sample> samples = make_classes({101, 1, 7, 20});  // 129 places: 33 + 32 + 32 + 32
  std::vector<int> totals(4, 0);
  for (uint32_t epoch = 0; epoch < 8; ++epoch) {
    std::vector<uint32_t> order = balanced_order(samples, all_of(samples), 3, epoch);
    ASSERT_EQ(order.size(), 129U);
    std::vector<int> counts(4, 0);
    for (uint32_t i : order) ++counts[size_t(samples[i].label)];
    for (size_t label = 0; label < 4; ++label) {
      // The place that is left over goes round the classes.
      EXPECT_EQ(counts[label], label == epoch % 4 ? 33 : 32) << epoch;
      totals[label] += counts[label];
    }
  }
  EXPECT_THAT(totals, ElementsAre(258, 258, 258, 258));
}

TEST(BalancedOrder, ImagesOfAClassComeEquallyOftenOverTheEpochs) {
  std::vector<Sample> samples = make_classes({90, 7});
  std::vector<int> seen(samples.size(), 0);
  for (uint32_t epoch = 0; epoch < 5; ++epoch) {
    for (uint32_t i : balanced_order(samples, all_of(samples), 3, epoch)) ++seen[i];
    auto [least, most] = std::minmax_element(seen.begin(), seen.begin() + 90);
    EXPECT_LE(*most - *least, 1) << epoch;
    auto [least_rare, most_rare] = std::minmax_element(seen.begin() + 90, seen.end());
    EXPECT_LE(*most_rare - *least_rare, 1) << epoch;
    EXPECT_GE(*least_rare, 6 * int(epoch + 1));  // 48 places an epoch for 7 images
  }
}

TEST(BalancedOrder, IsAFunctionOfSeedAndEpoch) {
  std::vector<Sample> samples = make_classes({40, 8});
  std::vector<uint32_t> order = balanced_order(samples, all_of(samples), 1, 5);
  EXPECT_EQ(order, balanced_order(samples, all_of(samples), 1, 5));
  EXPECT_NE(order, balanced_order(samples, all_of(samples), 1, 6));
  EXPECT_NE(order, balanced_order(samples, all_of(samples), 2, 5));
  // Shuffled: the classes do not come in turn.
  int changes = 0;
  for (size_t i = 1; i < order.size(); ++i) {
    changes += samples[order[i]].label != samples[order[i - 1]].label;
  }
  EXPECT_LT(changes, 40);
  EXPECT_GT(changes, 8);
}

TEST(BalancedOrder, LeavesOutWhatIsNotUsable) {
  std::vector<Sample> samples = make_classes({4, 2, 2});
  std::vector<uint32_t> usable = {0, 2, 3, 5};  // none of the last class
  std::vector<int> seen(samples.size(), 0);
  for (uint32_t i : balanced_order(samples, usable, 1, 0)) ++seen[i];
  EXPECT_EQ(seen[0] + seen[2] + seen[3], 2);
  EXPECT_THAT(seen, testing::Contains(2).Times(1));
  EXPECT_EQ(seen[5], 2);
  EXPECT_TRUE(balanced_order(samples, {}, 1, 0).empty());
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

// Two images whose hashes collide have one key.
TEST(EpochOrder, EqualKeysGoByPath) {
  std::vector<Sample> samples = make_samples(20);
  for (Sample& sample : samples) sample.id = 5;
  std::vector<std::string> expected;
  for (const Sample& sample : samples) expected.push_back(sample.path);
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(paths_in_order(samples, 1, 0), expected);
}

// Seen once and kept: an order that changed would change every run that is repeated.
TEST(EpochOrder, StaysWhatItWas) {
  EXPECT_THAT(epoch_order(make_samples(8), 7, 3), ElementsAre(2, 6, 5, 7, 4, 3, 0, 1));
  EXPECT_THAT(balanced_order(make_classes({5, 2}), all_of(make_classes({5, 2})), 7, 3),
              ElementsAre(5, 1, 5, 4, 6, 6, 0));
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
