// Where the time of a run goes: seconds and images of training and validation, and what they say of
// the time left. Counts alone; what is computed never depends on it.
#pragma once

#include <cstdint>
#include <optional>

namespace pounce {

// Speed of the first updates of a run, and what is still to come.
struct MeasuredSpeed {
  double images_per_second = 0;   // of training steps
  double data_wait_fraction = 0;  // share of the time that the step waited for images
  int64_t train_images = 0;       // still to come in this run
  int64_t val_images = 0;
  int image_size = 0;
  bool is_cpu = false;
};

class RunClock {
 public:
  RunClock() = default;
  // `start`: monotonic_seconds() when the run began. Images: of an epoch.
  RunClock(double start, int64_t train_images, int64_t val_images, int epochs);

  void start_epoch();
  // The epoch's training so far, whether or not a batch was trained on.
  void tick_training();
  void count_update(int64_t images);
  void count_validated(int64_t images) { validated_ += images; }

  double run_seconds() const;
  double epoch_seconds() const;                            // with its validation
  double train_seconds() const { return train_seconds_; }  // of the epoch, without validation
  // Of the epoch's training; 0 before its first tick.
  double images_per_second(int64_t images) const;
  // From the mean over all images so far, trained and validated alike; 0 without any.
  double seconds_left() const;

  // Once, after the update at which a run has shown how fast it is. `wait_seconds`: of the epoch.
  std::optional<MeasuredSpeed> first_speed(double wait_seconds);

 private:
  struct Mark {
    double seconds = 0;
    int64_t images = 0;
  };

  int64_t train_images_ = 0, val_images_ = 0;  // of the whole run
  int64_t updates_ = 0, trained_ = 0, validated_ = 0;
  double run_start_ = 0, epoch_start_ = 0;
  double train_seconds_ = 0;
  double earlier_train_seconds_ = 0;  // of the epochs before
  Mark warm_;                         // the first updates, which are slower
  bool is_told_ = false;
};

}  // namespace pounce
