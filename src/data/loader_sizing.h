// How many decode threads a loader needs and how many batches ahead, from what was measured: few at
// first, more while the consumer waits, fewer when they have long been idle. It decides when images
// are ready, never what they are. Not thread safe.
#pragma once

#include <cstdint>

namespace pounce {

struct SizingLimits {
  int least_threads = 1, most_threads = 1;
  int least_ahead = 2, most_ahead = 2;  // batches
};

// The limits of a loader. threads, ahead: 0: measured; else exactly as many. `batch_bytes`: of the
// largest batch; batches ahead stay below 256 MiB where two of them do.
SizingLimits sizing_limits(int threads, int ahead, int batch_size, uint64_t batch_bytes);

// One batch as the consumer saw it; seconds.
struct BatchTimes {
  double now = 0;         // monotonic, when it was handed over
  double waited = 0;      // by the consumer, for this batch
  double busy = 0;        // of all decode threads, since the loader began
  bool was_full = false;  // threads had to pause before it, being far enough ahead
  int ready = 0;          // batches that were complete, this one among them
};

class LoaderSizing {
 public:
  // A consumer that has waited for as long as this is worth another thread.
  static constexpr double kPatience = 0.005;

  explicit LoaderSizing(const SizingLimits& limits);

  int threads() const { return threads_; }
  int ahead() const { return ahead_; }
  bool can_grow() const { return threads_ < limits_.most_threads; }

  // The consumer has been waiting for kPatience although all threads are at work.
  void grow();
  // Begins to measure anew.
  void start_epoch(double now, double busy);
  void count(const BatchTimes& times);
  // The system gives no more threads than these.
  void limit_threads(int most);

 private:
  void start_window(double now, double busy);
  void shrink(double needed);

  SizingLimits limits_;
  int threads_, ahead_;
  double hold_;              // seconds of a window after which threads may be retired
  bool has_shrunk_ = false;  // since the last grow()
  double window_start_ = 0, window_busy_ = 0, window_wait_ = 0;
  int least_ready_ = 0;
};

}  // namespace pounce
