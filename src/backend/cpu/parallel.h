// Loops shared out over OpenMP threads. Every body works on its own outputs, and how work is cut
// into bodies depends on shapes alone, so results do not depend on the number of threads.
#pragma once

#include <algorithm>
#include <cstdint>

#ifdef _OPENMP
#include <omp.h>
#endif

namespace pounce::cpu {

// Runs body(i) once for every i in [0, count), on at most `threads` threads. Bodies must not throw.
template <typename Body>
void parallel_for(int threads, int64_t count, const Body& body) {
  [[maybe_unused]] int team = int(std::clamp<int64_t>(count, 1, std::max(threads, 1)));
#pragma omp parallel for num_threads(team) schedule(static) if (team > 1)
  for (int64_t i = 0; i < count; ++i) body(i);
}

// Which of the team's threads runs the calling body: 0 .. threads - 1.
inline int worker_index() {
#ifdef _OPENMP
  return omp_get_thread_num();
#else
  return 0;
#endif
}

// Runs body(first, end) over pieces of `grain` elements of [0, count).
template <typename Body>
void parallel_pieces(int threads, int64_t count, int64_t grain, const Body& body) {
  parallel_for(threads, (count + grain - 1) / grain,
               [&](int64_t piece) { body(piece * grain, std::min(count, (piece + 1) * grain)); });
}

// Elements of a piece of an elementwise loop: enough to outweigh its start, few enough to share.
inline constexpr int64_t kElementwiseGrain = int64_t{1} << 14;

// While it lives, oneDNN calls of this thread run on `threads` threads.
class ScopedThreads {
 public:
#ifdef _OPENMP
  explicit ScopedThreads(int threads) : previous_(omp_get_max_threads()) {
    omp_set_num_threads(threads);
  }
  ~ScopedThreads() {
    omp_set_num_threads(previous_);
  }
#else
  explicit ScopedThreads(int threads) : previous_(threads) {}
#endif
  ScopedThreads(const ScopedThreads&) = delete;
  ScopedThreads& operator=(const ScopedThreads&) = delete;

 private:
  [[maybe_unused]] int previous_;
};

}  // namespace pounce::cpu
