// Ctrl-C (SIGINT) and SIGTERM as a request to stop: the first asks the work to finish cleanly, the
// second ends the process at once.
#pragma once

#include <atomic>
#include <functional>
#include <stop_token>
#include <thread>

#include <signal.h>

namespace pounce::cli {

// While it lives both signals are taken by a thread of its own. Must be made before other threads
// are, because those inherit that the signals are blocked.
class SignalStop {
 public:
  // `on_first` runs once, on the watching thread, with the signal's number.
  explicit SignalStop(std::function<void(int)> on_first);
  SignalStop(const SignalStop&) = delete;
  SignalStop& operator=(const SignalStop&) = delete;
  ~SignalStop();

  std::stop_token token() const { return source_.get_token(); }
  bool was_requested() const { return signal_ != 0; }
  // 128 + signal, as shells count; 130 when none came.
  int exit_code() const;

 private:
  void watch();

  std::function<void(int)> on_first_;
  std::stop_source source_;
  std::atomic<int> signal_ = 0;
  std::atomic<bool> is_closing_ = false;
  sigset_t signals_;
  sigset_t previous_mask_;
  std::thread watcher_;
};

}  // namespace pounce::cli
