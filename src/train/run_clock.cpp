#include "train/run_clock.h"

#include <utility>

#include "base/system.h"

namespace pounce {
namespace {

// The first of the measured updates are not counted.
constexpr int64_t kMeasuredUpdates = 20;
constexpr int64_t kWarmUpdates = 2;

}  // namespace

RunClock::RunClock(double start, int64_t train_images, int64_t val_images, int epochs)
    : train_images_(train_images * epochs), val_images_(val_images * epochs), run_start_(start) {}

void RunClock::start_epoch() {
  epoch_start_ = monotonic_seconds();
  earlier_train_seconds_ += std::exchange(train_seconds_, 0);
}

void RunClock::tick_training() {
  train_seconds_ = epoch_seconds();
}

void RunClock::count_update(int64_t images) {
  trained_ += images;
  tick_training();
  if (++updates_ == kWarmUpdates) warm_ = {earlier_train_seconds_ + train_seconds_, trained_};
}

double RunClock::run_seconds() const {
  return monotonic_seconds() - run_start_;
}

double RunClock::epoch_seconds() const {
  return monotonic_seconds() - epoch_start_;
}

double RunClock::images_per_second(int64_t images) const {
  return train_seconds_ > 0 ? double(images) / train_seconds_ : 0;
}

double RunClock::seconds_left() const {
  int64_t done = trained_ + validated_;
  if (done == 0) return 0;
  return run_seconds() / double(done) * double(train_images_ + val_images_ - done);
}

std::optional<MeasuredSpeed> RunClock::first_speed(double wait_seconds) {
  if (updates_ < kMeasuredUpdates || std::exchange(is_told_, true)) return std::nullopt;
  double seconds = earlier_train_seconds_ + train_seconds_ - warm_.seconds;
  return MeasuredSpeed{.images_per_second = double(trained_ - warm_.images) / seconds,
                       .data_wait_fraction = wait_seconds / train_seconds_,
                       .train_images = train_images_ - trained_,
                       .val_images = val_images_ - validated_};
}

}  // namespace pounce
