#include "cli/signals.h"

#include <cstdlib>
#include <utility>

namespace pounce::cli {

SignalStop::SignalStop(std::function<void(int)> on_first) : on_first_(std::move(on_first)) {
  sigemptyset(&signals_);
  sigaddset(&signals_, SIGINT);
  sigaddset(&signals_, SIGTERM);
  // A terminal that goes away, unless nohup has said to go on.
  struct sigaction hangup {};
  sigaction(SIGHUP, nullptr, &hangup);
  if (hangup.sa_handler != SIG_IGN) sigaddset(&signals_, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &signals_, &previous_mask_);
  watcher_ = std::thread([this] { watch(); });
}

SignalStop::~SignalStop() {
  is_closing_ = true;
  pthread_kill(watcher_.native_handle(), SIGINT);
  watcher_.join();
  pthread_sigmask(SIG_SETMASK, &previous_mask_, nullptr);
}

int SignalStop::exit_code() const {
  int signal = signal_;
  return 128 + (signal ? signal : SIGINT);
}

void SignalStop::watch() {
  for (;;) {
    int signal = 0;
    // Waiting instead of handling: no rules about what may be called here.
    if (sigwait(&signals_, &signal) != 0) continue;
    if (is_closing_) return;
    int first = 0;
    if (!signal_.compare_exchange_strong(first, signal)) std::_Exit(128 + signal);
    on_first_(signal);
    source_.request_stop();
  }
}

}  // namespace pounce::cli
