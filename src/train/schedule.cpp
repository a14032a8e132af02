#include "train/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace pounce {

std::vector<float> cosine_schedule(double peak, int64_t updates, int64_t warmup) {
  warmup = std::min(warmup, updates);
  std::vector<float> rates(static_cast<size_t>(updates));
  for (int64_t i = 0; i < updates; ++i) {
    double rate = peak;
    if (i < warmup) {
      rate *= double(i + 1) / double(warmup);
    } else {
      double progress = double(i - warmup) / double(updates - warmup);
      rate *= 0.5 * (1 + std::cos(std::numbers::pi * progress));
    }
    rates[size_t(i)] = float(rate);
  }
  return rates;
}

}  // namespace pounce
