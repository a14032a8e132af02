#include "data/ram_cache.h"

#include <atomic>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/fixtures.h"

namespace pounce {
namespace {

using test::Bytes;

CachedImage bytes_image(const Bytes& data) {
  return {.kind = CachedKind::Bytes, .data = data};
}

Bytes as_vector(const CachedImage& image) {
  return {image.data.begin(), image.data.end()};
}

RamCache cache_for(const std::vector<CacheCandidate>& candidates, uint64_t limit) {
  return {forecast_cache(candidates, limit), limit};
}

TEST(CacheForecast, HoldsPixelsWhereAllFit) {
  CacheForecast forecast = forecast_cache(
      std::vector<CacheCandidate>{{1, 10, 10, 50, true}, {2, 10, 10, 60, false}}, 1000);
  ASSERT_EQ(forecast.images.size(), 2U);
  EXPECT_EQ(forecast.find(1)->kind, CachedKind::Pixels);
  EXPECT_EQ(forecast.find(2)->kind, CachedKind::Bytes);
  EXPECT_EQ(forecast.find(3), nullptr);
  EXPECT_EQ(forecast.bytes, 300U + 60);
  EXPECT_EQ(forecast.pixel_images, 1);
}

TEST(CacheForecast, KeepsAllAsBytesBeforeItKeepsSomeAsPixels) {
  std::vector<CacheCandidate> list;
  for (uint64_t id = 9; id >= 5; --id) list.push_back({id, 10, 10, 50, true});
  CacheForecast forecast = forecast_cache(list, 5 * 50 + 2 * 250 + 249);
  EXPECT_EQ(forecast.images.size(), 5U);
  EXPECT_EQ(forecast.bytes, 5U * 50 + 2 * 250);
  // In list order.
  EXPECT_EQ(forecast.find(9)->kind, CachedKind::Pixels);
  EXPECT_EQ(forecast.find(8)->kind, CachedKind::Pixels);
  EXPECT_EQ(forecast.find(7)->kind, CachedKind::Bytes);
}

TEST(CacheForecast, HoldsPixelsOrNothingWhereBytesWillNotDo) {
  CacheCandidate image{.width = 10,
                       .height = 10,
                       .file_bytes = 50,
                       .may_hold_pixels = true,
                       .may_hold_bytes = false};
  std::vector<CacheCandidate> list;
  for (uint64_t id : {3, 2, 1}) {
    image.id = id;
    list.push_back(image);
  }
  CacheForecast forecast = forecast_cache(list, 2 * 300 + 299);
  EXPECT_EQ(forecast.summary(), "caches 2 of 3 images in 600 B");
  EXPECT_EQ(forecast.pixel_images, 2);
  EXPECT_EQ(forecast.find(3)->kind, CachedKind::Pixels);
  EXPECT_EQ(forecast.find(1), nullptr);
}

TEST(CacheForecast, GoesOnWithSmallerOnesAndNamesTheSum) {
  std::vector<CacheCandidate> list{
      {1, 9, 9, 600 << 10, false}, {2, 9, 9, 500 << 10, false}, {3, 9, 9, 424 << 10, false}};
  CacheForecast forecast = forecast_cache(list, 1 << 20);
  EXPECT_EQ(forecast.summary(), "caches 2 of 3 images in 1.0 MB");
  EXPECT_EQ(forecast.find(2), nullptr);
  EXPECT_EQ(forecast_cache(list, 0).summary(), "caches 0 of 3 images in 0 B");
}

TEST(CacheForecast, CountsAnImageOnceAndTakesPixelsThatAreSmallerThanTheirFile) {
  std::vector<CacheCandidate> list{{1, 2, 2, 100, true}, {1, 2, 2, 100, true}};
  CacheForecast forecast = forecast_cache(list, 12);
  EXPECT_EQ(forecast.candidates, 1);
  EXPECT_EQ(forecast.bytes, 12U);
  EXPECT_EQ(forecast.find(1)->kind, CachedKind::Pixels);
}

TEST(RamCache, GivesBackWhatWasStoredUntilTheFileChanges) {
  RamCache cache = cache_for({{7, 4, 2, 100, true}}, 1000);
  FileStamp stamp{100, 5};
  EXPECT_FALSE(cache.find(7, stamp));
  EXPECT_FALSE(cache.may_hold(7));
  CachedKind kind = CachedKind::Bytes;
  ASSERT_TRUE(cache.wants(7, 4, 2, 100, &kind));
  EXPECT_EQ(kind, CachedKind::Pixels);
  Bytes pixels(24, 3);
  cache.store(7, stamp, {CachedKind::Pixels, pixels, 4, 2, nullptr});
  EXPECT_TRUE(cache.may_hold(7));
  EXPECT_FALSE(cache.may_hold(8));
  auto found = cache.find(7, stamp);
  ASSERT_TRUE(found);
  EXPECT_EQ(as_vector(*found), pixels);
  EXPECT_EQ(found->width, 4);
  EXPECT_EQ(found->height, 2);
  EXPECT_EQ(found->kind, CachedKind::Pixels);
  EXPECT_FALSE(cache.find(7, {101, 5}));
  EXPECT_FALSE(cache.find(7, {100, 6}));
  EXPECT_FALSE(cache.find(8, stamp));
}

TEST(RamCache, AnEntryOutlivesItsReplacement) {
  RamCache cache = cache_for({{7, 4, 2, 100, false}}, 1000);
  cache.store(7, {100, 1}, bytes_image(Bytes(100, 1)));
  auto old = cache.find(7, {100, 1});
  ASSERT_TRUE(old);
  cache.store(7, {90, 2}, bytes_image(Bytes(90, 2)));
  EXPECT_EQ(as_vector(*old), Bytes(100, 1));
  EXPECT_EQ(as_vector(*cache.find(7, {90, 2})), Bytes(90, 2));
  EXPECT_EQ(cache.bytes(), 90U);
  EXPECT_EQ(cache.images(), 1);
}

TEST(RamCache, StoresNothingThatIsNotPlannedOrDoesNotFit) {
  RamCache cache = cache_for({{1, 9, 9, 60, false}, {2, 9, 9, 40, false}}, 100);
  CachedKind kind{};
  EXPECT_FALSE(cache.wants(3, 1, 1, 1, &kind));
  cache.store(3, {1, 0}, bytes_image(Bytes(1)));
  EXPECT_FALSE(cache.find(3, {1, 0}));
  // The file grew after the forecast.
  cache.store(1, {61, 0}, bytes_image(Bytes(61)));
  EXPECT_FALSE(cache.wants(2, 9, 9, 40, &kind));
  cache.store(2, {40, 0}, bytes_image(Bytes(40)));
  EXPECT_FALSE(cache.find(2, {40, 0}));
  EXPECT_EQ(cache.bytes(), 61U);
}

TEST(RamCache, SixteenThreadsCountExactly) {
  constexpr uint64_t kImages = 200, kLimit = 15'000;
  std::vector<CacheCandidate> list;
  for (uint64_t id = 0; id < kImages; ++id) list.push_back({id, 9, 9, 100, false});
  RamCache cache({forecast_cache(list, kImages * 100).images}, kLimit);
  std::atomic<int> wrong{0};
  {
    std::vector<std::jthread> threads;
    for (uint64_t t = 0; t < 16; ++t) {
      threads.emplace_back([&, t] {
        for (uint64_t i = 0; i < 4000; ++i) {
          uint64_t id = (i * 7 + t * 13) % kImages;
          FileStamp stamp{100, int64_t(i / 1000)};
          auto found = cache.find(id, stamp);
          uint8_t value = uint8_t(id + i / 1000);
          if (found && as_vector(*found) != Bytes(100, value)) ++wrong;
          if (!found) cache.store(id, stamp, bytes_image(Bytes(100, value)));
          if (cache.bytes() > kLimit) ++wrong;
        }
      });
    }
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(cache.images() * 100, int64_t(cache.bytes()));
  EXPECT_GE(cache.bytes(), kLimit - 16 * 100);  // two threads may have stored the same image
}

}  // namespace
}  // namespace pounce
