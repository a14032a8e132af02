#include "train/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace pounce {
namespace {

// peak * share(update) after a linear warm-up.
template <typename Share>
std::vector<float> with_warmup(double peak, int64_t updates, int64_t warmup, const Share& share) {
  warmup = std::min(warmup, updates);
  std::vector<float> rates(static_cast<size_t>(updates));
  for (int64_t i = 0; i < updates; ++i) {
    rates[size_t(i)] = float(peak * (i < warmup ? double(i + 1) / double(warmup) : share(i)));
  }
  return rates;
}

}  // namespace

std::vector<float> cosine_schedule(double peak, int64_t updates, int64_t warmup) {
  return with_warmup(peak, updates, warmup, [&](int64_t i) {
    double progress = double(i - warmup) / double(updates - warmup);
    return 0.5 * (1 + std::cos(std::numbers::pi * progress));
  });
}

std::vector<float> step_schedule(double peak, int64_t updates, int64_t warmup, int64_t step,
                                 double gamma) {
  return with_warmup(peak, updates, warmup,
                     [&](int64_t i) { return std::pow(gamma, double(i / step)); });
}

std::vector<float> constant_schedule(double peak, int64_t updates, int64_t warmup) {
  return with_warmup(peak, updates, warmup, [](int64_t) { return 1.0; });
}

std::vector<float> make_schedule(const TrainConfig& config, int64_t updates,
                                 int64_t epoch_updates) {
  double peak = *config.learning_rate;
  int64_t warmup = std::llround(config.warmup_epochs * double(epoch_updates));
  switch (config.schedule) {
    case ScheduleKind::Cosine:
      break;
    case ScheduleKind::Constant:
      return constant_schedule(peak, updates, warmup);
    case ScheduleKind::Step: {
      int64_t step = std::llround(config.step_epochs * double(epoch_updates));
      return step_schedule(peak, updates, warmup, std::max<int64_t>(1, step), config.step_gamma);
    }
  }
  return cosine_schedule(peak, updates, warmup);
}

}  // namespace pounce
