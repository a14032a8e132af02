#include "data/loader_sizing.h"

#include <gtest/gtest.h>

#include "base/system.h"

namespace pounce {
namespace {

SizingLimits limits(int threads, int ahead = 8) {
  return {.least_threads = 1, .most_threads = threads, .least_ahead = 2, .most_ahead = ahead};
}

// A consumer whose batches take `interval` and who waits `waited` of it.
struct Consumer {
  LoaderSizing& sizing;
  BatchTimes times{};

  void take(double interval, double waited, double busy_threads, bool was_full, int ready = 1) {
    times.now += interval;
    times.waited = waited;
    times.busy += interval * busy_threads;
    times.was_full = was_full;
    times.ready = ready;
    sizing.count(times);
  }
};

TEST(LoaderSizing, GivenNumbersStay) {
  SizingLimits given = sizing_limits(5, 3, 64, 1 << 20);
  EXPECT_EQ(given.least_threads, 5);
  EXPECT_EQ(given.most_threads, 5);
  EXPECT_EQ(given.least_ahead, 3);
  EXPECT_EQ(given.most_ahead, 3);
  LoaderSizing sizing(given);
  EXPECT_FALSE(sizing.can_grow());
  Consumer consumer{sizing};
  for (int i = 0; i < 100; ++i) consumer.take(1, i < 50 ? 0.5 : 0, 0.1, i % 2 == 0, 4);
  EXPECT_EQ(sizing.threads(), 5);
  EXPECT_EQ(sizing.ahead(), 3);
}

TEST(LoaderSizing, MeasuredNumbersStayWithinTheMachine) {
  SizingLimits found = sizing_limits(0, 0, 64, 64 * 224 * 224 * 3);
  EXPECT_EQ(found.least_threads, 1);
  EXPECT_EQ(found.most_threads, usable_cores());
  EXPECT_GE(found.least_ahead, 2);
  // 9.2 MiB a batch: eight are enough. Of 64 MiB batches four fit, of 1 GiB batches two are kept.
  EXPECT_EQ(found.most_ahead, 8);
  EXPECT_EQ(sizing_limits(1, 0, 64, uint64_t(64) << 20).most_ahead, 4);
  EXPECT_EQ(sizing_limits(1, 0, 64, uint64_t(1) << 30).most_ahead, 2);
  // Enough small batches that every thread finds work.
  EXPECT_EQ(sizing_limits(16, 0, 1, 100).least_ahead, 34);
}

TEST(LoaderSizing, AWaitingConsumerDoublesTheThreads) {
  LoaderSizing sizing(limits(6));
  EXPECT_EQ(sizing.threads(), 1);
  sizing.grow();
  EXPECT_EQ(sizing.threads(), 2);
  Consumer consumer{sizing};
  consumer.take(0.1, 0.05, 2, false);
  EXPECT_EQ(sizing.threads(), 4);
  consumer.take(0.1, 0.05, 4, false);
  EXPECT_EQ(sizing.threads(), 6);
  EXPECT_FALSE(sizing.can_grow());
}

TEST(LoaderSizing, ShortWaitsAddUp) {
  LoaderSizing sizing(limits(8));
  Consumer consumer{sizing};
  for (int i = 0; i < 4; ++i) consumer.take(0.002, 0.001, 1, false);
  EXPECT_EQ(sizing.threads(), 1);
  consumer.take(0.002, 0.001, 1, false);
  EXPECT_EQ(sizing.threads(), 2);
}

TEST(LoaderSizing, WaitsThatAreASmallShareDoNotMatter) {
  LoaderSizing sizing(limits(8));
  Consumer consumer{sizing};
  for (int i = 0; i < 1000; ++i) consumer.take(0.5, 0.004, 0.9, false);
  EXPECT_EQ(sizing.threads(), 1);
}

TEST(LoaderSizing, ThreadsThatAreLongIdleAreRetired) {
  LoaderSizing sizing(limits(16));
  for (int i = 0; i < 4; ++i) sizing.grow();
  EXPECT_EQ(sizing.threads(), 16);
  Consumer consumer{sizing};
  for (int i = 0; i < 19; ++i) consumer.take(0.1, 0, 2, true, 2);
  EXPECT_EQ(sizing.threads(), 16);  // not yet
  for (int i = 0; i < 3; ++i) consumer.take(0.1, 0, 2, true, 2);
  EXPECT_EQ(sizing.threads(), 3);
  for (int i = 0; i < 100; ++i) consumer.take(0.1, 0, 2, true, 2);
  EXPECT_EQ(sizing.threads(), 3);  // two at work and one to spare
}

TEST(LoaderSizing, AfterAMistakeItThinksLonger) {
  LoaderSizing sizing(limits(8));
  Consumer consumer{sizing};
  auto seconds_until_retired = [&] {
    while (sizing.can_grow()) sizing.grow();
    consumer.times.now += 1;
    sizing.start_epoch(consumer.times.now, consumer.times.busy);
    int batches = 0;
    for (; sizing.threads() == 8; ++batches) consumer.take(0.1, 0, 1, true);
    return batches / 10;
  };
  EXPECT_EQ(seconds_until_retired(), 2);
  EXPECT_EQ(seconds_until_retired(), 4);
  EXPECT_EQ(seconds_until_retired(), 8);
  for (int i = 0; i < 5; ++i) seconds_until_retired();
  EXPECT_EQ(seconds_until_retired(), 60);
}

TEST(LoaderSizing, UnevenImagesLieFurtherAhead) {
  LoaderSizing sizing(limits(4, 3));
  Consumer consumer{sizing};
  consumer.take(0.1, 0.05, 0.5, true);
  EXPECT_EQ(sizing.ahead(), 3);
  EXPECT_EQ(sizing.threads(), 1);
  consumer.take(0.1, 0.05, 0.5, true);
  EXPECT_EQ(sizing.ahead(), 3);  // the limit
  // Always three lie ready: one of them for nothing.
  for (int i = 0; i < 21; ++i) consumer.take(0.1, 0, 0.5, true, 3);
  EXPECT_EQ(sizing.ahead(), 2);
  for (int i = 0; i < 100; ++i) consumer.take(0.1, 0, 0.5, true, 2);
  EXPECT_EQ(sizing.ahead(), 2);
}

TEST(LoaderSizing, TheSystemMayGiveFewerThreads) {
  LoaderSizing sizing(limits(16));
  for (int i = 0; i < 4; ++i) sizing.grow();
  sizing.limit_threads(5);
  EXPECT_EQ(sizing.threads(), 5);
  EXPECT_FALSE(sizing.can_grow());
}

}  // namespace
}  // namespace pounce
