// Sums along a row in double, in an order that the width alone decides and that vectors can follow.
// Included once for each instruction set, after highway.h (hence Highway's form of include guard).
#if defined(POUNCE_CPU_ROW_SUM_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef POUNCE_CPU_ROW_SUM_INL_H
#undef POUNCE_CPU_ROW_SUM_INL_H
#else
#define POUNCE_CPU_ROW_SUM_INL_H
#endif

#include <cstdint>

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace pounce::cpu {
namespace HWY_NAMESPACE {
namespace {

constexpr int64_t kSumLanes = 16;

// term(0) + ... + term(width - 1): term i joins lane i % kSumLanes, lanes are added in order.
template <typename Term>
HWY_INLINE double row_sum(int64_t width, const Term& term) {
  double lanes[kSumLanes] = {};
  int64_t i = 0;
  for (; i + kSumLanes <= width; i += kSumLanes) {
    for (int64_t lane = 0; lane < kSumLanes; ++lane) lanes[lane] += term(i + lane);
  }
  for (int64_t lane = 0; i + lane < width; ++lane) lanes[lane] += term(i + lane);
  double sum = 0;
  for (double lane : lanes) sum += lane;
  return sum;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace pounce::cpu
HWY_AFTER_NAMESPACE();

#endif
