// Adds up the progress of the parts of a scan: folders are listed one split after the other, then
// the headers of each are read. Internal to src/data.
#pragma once

#include <functional>
#include <utility>

#include "base/system.h"
#include "data/dataset.h"

namespace pounce {

class ScanMeter {
 public:
  // The observer is told a few times a second.
  explicit ScanMeter(ScanObserver observer) : observer_(std::move(observer)) {}

  // To be told how many files of the split in progress are listed; empty without an observer.
  std::function<void(int64_t files)> listing() {
    if (!observer_) return {};
    return [this](int64_t files) { tell({listed_ + files, 0}); };
  }
  void add_listed(size_t files) { listed_ += int64_t(files); }
  int64_t listed() const { return listed_; }

  // To be told how many headers of the split in progress are read. After the last add_listed().
  ScanObserver reading() {
    if (!observer_) return {};
    return [this](const ScanCount& part) { tell({read_ + part.files, listed_}); };
  }
  void add_read(size_t files) {
    read_ += int64_t(files);
    if (observer_) observer_({read_, listed_});
  }

 private:
  void tell(const ScanCount& count) {
    constexpr double kSecondsBetween = 0.05;
    double now = monotonic_seconds();
    if (now - last_told_ < kSecondsBetween) return;
    last_told_ = now;
    observer_(count);
  }

  double last_told_ = 0;
  ScanObserver observer_;
  int64_t listed_ = 0, read_ = 0;
};

}  // namespace pounce
