#include "base/system.h"

#include <array>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

namespace pounce {
namespace {

TEST(System, CoresAreWithinReason) {
  EXPECT_GE(usable_cores(), 1);
  EXPECT_LE(usable_cores(), int(std::max(1U, std::thread::hardware_concurrency())));
}

TEST(System, ClocksRun) {
  double start = seconds_since_process_start(), now = monotonic_seconds();
  EXPECT_GT(start, 0);
  EXPECT_LT(start, 24 * 3600);
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  double passed = monotonic_seconds() - now;
  EXPECT_GE(passed, 0.03);
  EXPECT_NEAR(seconds_since_process_start() - start, passed, 0.02);
}

TEST(System, PeakMemoryCoversWhatWasUsed) {
  int64_t before = resident_bytes();
  std::vector<char> block(64 << 20, 1);
  EXPECT_GE(resident_bytes() - before, 50 << 20);
  EXPECT_GE(peak_resident_bytes(), 64 << 20);
  EXPECT_GT(total_memory_bytes(), peak_resident_bytes());
}

// Sanitizers have an allocator of their own.
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(System, FreedMemoryStaysUntilAThreadGivesItBack) {
  constexpr int64_t kBlocks = 512, kBlockBytes = 1 << 16;  // 32 MB
  int64_t before = 0, kept = 0, left = 0;
  keep_free_memory();
  std::thread([&] {
    before = resident_bytes();
    {
      std::vector<std::vector<char>> blocks;
      for (int64_t i = 0; i < kBlocks; ++i) blocks.emplace_back(kBlockBytes, char(1));
    }
    kept = resident_bytes();
    release_thread_memory();
    left = resident_bytes();
  }).join();
  keep_free_memory();
  EXPECT_GT(kept - before, 30 << 20);
  EXPECT_LT(left - before, 2 << 20);
}
#endif

TEST(System, WriteAllSaysWhenTheReaderIsGone) {
  signal(SIGPIPE, SIG_IGN);
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  EXPECT_TRUE(write_all(ends[1], "hello"));
  close(ends[0]);
  EXPECT_FALSE(write_all(ends[1], "hello"));
  EXPECT_FALSE(is_terminal(ends[1]));
  EXPECT_EQ(terminal_width(ends[1]), 80);
  close(ends[1]);
}

}  // namespace
}  // namespace pounce
