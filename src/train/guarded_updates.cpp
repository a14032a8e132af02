#include "train/guarded_updates.h"

#include "base/error.h"

namespace pounce {

void GuardedUpdates::widen(DType dtype, const std::string& report) {
  warn_(fmt::format("{}; this update is repeated in {}, and the training goes on in it", report,
                    precision_name(dtype)));
  skipped_before_ += runner_.loss_scale().skipped;
  runner_.change_precision(dtype);
}

UpdateOutcome GuardedUpdates::train(std::span<const uint8_t> images,
                                    const std::vector<int32_t>& labels,
                                    const std::vector<float>& weights) {
  for (;;) {
    UpdateOutcome outcome{.result = runner_.train(images, labels, weights),
                          .non_finite = runner_.non_finite(),
                          .report = ""};
    DType dtype = runner_.spec().precision;
    if (dtype == DType::F32) return outcome;
    int64_t in_a_row = runner_.loss_scale().in_a_row;
    if (!outcome.non_finite && in_a_row < kSkipsWorthAReport) return outcome;
    bool is_new = outcome.non_finite || may_widen_ || in_a_row == kSkipsWorthAReport;
    if (!is_new) return outcome;
    outcome.report = runner_.measure_ranges(images, labels, weights).summary();
    std::optional<DType> wider = wider_precision(dtype, *runner_.device().backend);
    if (may_widen_ && wider) {
      widen(*wider, outcome.report);
      continue;
    }
    if (!outcome.non_finite) {
      warn_(fmt::format("{} updates in a row were skipped: {}", in_a_row, outcome.report));
    }
    return outcome;
  }
}

}  // namespace pounce
