// Counts of a run's clock; its seconds are those of the machine.
#include "train/run_clock.h"

#include <gtest/gtest.h>

#include "base/system.h"

namespace pounce {
namespace {

TEST(RunClock, TellsTheSpeedOnceAfterTwentyUpdates) {
  RunClock clock(monotonic_seconds(), 64, 16, 10);
  for (int epoch = 0; epoch < 6; ++epoch) {
    clock.start_epoch();
    for (int update = 0; update < 4; ++update) {
      clock.count_update(16);
      auto speed = clock.first_speed(0);
      bool is_twentieth = epoch == 4 && update == 3;
      ASSERT_EQ(speed.has_value(), is_twentieth) << epoch << " " << update;
      if (!is_twentieth) continue;
      EXPECT_EQ(speed->train_images, 640 - 20 * 16);
      EXPECT_EQ(speed->val_images, 160 - 4 * 16);
      EXPECT_GT(speed->images_per_second, 0);
    }
    clock.count_validated(16);
  }
}

TEST(RunClock, NothingIsKnownBeforeTheFirstImage) {
  RunClock clock(monotonic_seconds(), 64, 0, 1);
  clock.start_epoch();
  EXPECT_EQ(clock.seconds_left(), 0);
  EXPECT_EQ(clock.images_per_second(0), 0);
  clock.count_update(64);
  EXPECT_EQ(clock.seconds_left(), 0);  // all are done
}

}  // namespace
}  // namespace pounce
