// Learning rates by update, computed beforehand: the table lies on the device.
#pragma once

#include <cstdint>
#include <vector>

#include "pounce/train.h"

namespace pounce {

// Linear warm-up over the first `warmup` of `updates`, then a half cosine from `peak` to 0
// (Loshchilov and Hutter 2017). updates >= 1.
std::vector<float> cosine_schedule(double peak, int64_t updates, int64_t warmup);

// The same warm-up, then `peak` times gamma for every `step` updates after the start. step >= 1.
std::vector<float> step_schedule(double peak, int64_t updates, int64_t warmup, int64_t step,
                                 double gamma);
// The same warm-up, then `peak`.
std::vector<float> constant_schedule(double peak, int64_t updates, int64_t warmup);

// The schedule of a complete configuration, `epoch_updates` updates an epoch.
std::vector<float> make_schedule(const TrainConfig& config, int64_t updates, int64_t epoch_updates);

}  // namespace pounce
