#include "base/parallel.h"

#include <atomic>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

namespace pounce {
namespace {

TEST(ForEachParallel, CallsEachOnce) {
  for (int threads : {0, 1, 2, 7}) {
    for (size_t count : {size_t{0}, size_t{1}, size_t{100}}) {
      std::vector<std::atomic<int>> calls(count);
      for_each_parallel(threads, count, [&](size_t i) { ++calls[i]; });
      for (const std::atomic<int>& each : calls) EXPECT_EQ(each, 1) << threads << " threads";
    }
  }
}

TEST(ForEachParallel, AnExceptionEndsTheLoop) {
  for (int threads : {1, 4}) {
    std::atomic<int> calls = 0;
    auto body = [&](size_t i) {
      ++calls;
      if (i == 3) throw std::runtime_error("3");
    };
    EXPECT_THROW(for_each_parallel(threads, 1'000'000, body), std::runtime_error);
    EXPECT_LT(calls, 1'000'000);
  }
}

}  // namespace
}  // namespace pounce
