#include "data/loader_sizing.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/system.h"

namespace pounce {
namespace {

constexpr uint64_t kMostAheadBytes = uint64_t(256) << 20;
constexpr int kMostAhead = 8;
constexpr double kFirstHold = 2, kMostHold = 60;  // seconds
constexpr double kShareThatMatters = 0.01;        // of the time, spent waiting
constexpr double kHeadroom = 1.5;                 // threads kept for one that was busy

}  // namespace

SizingLimits sizing_limits(int threads, int ahead, int batch_size, uint64_t batch_bytes) {
  SizingLimits limits;
  limits.most_threads = usable_cores();
  if (threads > 0) limits.least_threads = limits.most_threads = threads;
  // Two images for every thread must fit between the batch in progress and the last one ahead.
  limits.least_ahead = 2 + 2 * limits.most_threads / batch_size;
  uint64_t fitting = kMostAheadBytes / std::max<uint64_t>(1, batch_bytes);
  limits.most_ahead =
      std::max(limits.least_ahead, int(std::min<uint64_t>(fitting, uint64_t(kMostAhead))));
  if (ahead > 0) limits.least_ahead = limits.most_ahead = ahead;
  return limits;
}

LoaderSizing::LoaderSizing(const SizingLimits& limits)
    : limits_(limits),
      threads_(limits.least_threads),
      ahead_(limits.least_ahead),
      hold_(kFirstHold) {}

void LoaderSizing::grow() {
  threads_ = std::min(2 * threads_, limits_.most_threads);
  // What was retired was needed: think longer the next time.
  if (has_shrunk_) hold_ = std::min(2 * hold_, kMostHold);
  has_shrunk_ = false;
}

void LoaderSizing::limit_threads(int most) {
  limits_.most_threads = std::min(limits_.most_threads, most);
  limits_.least_threads = std::min(limits_.least_threads, most);
  threads_ = std::min(threads_, most);
}

void LoaderSizing::start_epoch(double now, double busy) {
  start_window(now, busy);
}

void LoaderSizing::start_window(double now, double busy) {
  window_start_ = now;
  window_busy_ = busy;
  window_wait_ = 0;
  least_ready_ = std::numeric_limits<int>::max();
}

void LoaderSizing::count(const BatchTimes& times) {
  double seconds = times.now - window_start_;
  window_wait_ += times.waited;
  least_ready_ = std::min(least_ready_, times.ready);
  if (window_wait_ >= kPatience && window_wait_ > kShareThatMatters * seconds) {
    // Threads that paused and came late all the same: images differ, more of them must lie ready.
    if (times.was_full) {
      ahead_ = std::min(ahead_ + 1, limits_.most_ahead);
    } else {
      grow();
    }
    start_window(times.now, times.busy);
  } else if (seconds >= hold_) {
    shrink((times.busy - window_busy_) / seconds);
    start_window(times.now, times.busy);
  }
}

void LoaderSizing::shrink(double needed) {
  int enough = std::max(limits_.least_threads, int(std::ceil(kHeadroom * needed)));
  if (enough < threads_) {
    threads_ = enough;
    has_shrunk_ = true;
  }
  if (least_ready_ > 2) ahead_ = std::max(ahead_ - 1, limits_.least_ahead);
}

}  // namespace pounce
