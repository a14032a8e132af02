// Updates with what --precision allows: watches the stop flag and the loss scale of a StepRunner,
// reports which layer overflowed and, under auto, repeats the update in a wider precision.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "train/step_runner.h"

namespace pounce {

// After so many skipped updates in a row the layers' ranges are looked at.
inline constexpr int64_t kSkipsWorthAReport = 20;

struct UpdateOutcome {
  StepResult result;
  // Set: nothing was updated, and nothing will be.
  std::optional<NonFinite> non_finite;
  std::string report;  // of the layers, where it was made in half precision
};

class GuardedUpdates {
 public:
  // `may_widen`: an update that overflows is repeated in a wider precision. The runner must outlive
  // this object. `warn` is called with one sentence for each report.
  GuardedUpdates(StepRunner& runner, bool may_widen, std::function<void(const std::string&)> warn)
      : runner_(runner), may_widen_(may_widen), warn_(std::move(warn)) {}

  // One update, as StepRunner::train. Throws what StepRunner::change_precision does.
  UpdateOutcome train(std::span<const uint8_t> images, const std::vector<int32_t>& labels,
                      const std::vector<float>& weights);

  // Of all updates, whatever precision they were in.
  int64_t skipped_updates() { return skipped_before_ + runner_.loss_scale().skipped; }

 private:
  void widen(DType dtype, const std::string& report);

  StepRunner& runner_;
  bool may_widen_;
  std::function<void(const std::string&)> warn_;
  int64_t skipped_before_ = 0;  // in precisions it has left
};

}  // namespace pounce
