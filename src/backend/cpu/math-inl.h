// exp, log, tanh and erf in float, free of branches and tables, so that loops over the formulas of
// elementwise.def become vectors and give an element the same bits wherever it stands. Within 3
// units in the last place of the exact result. Included once for each instruction set, after
// highway.h (hence Highway's form of include guard).
#if defined(POUNCE_CPU_MATH_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef POUNCE_CPU_MATH_INL_H
#undef POUNCE_CPU_MATH_INL_H
#else
#define POUNCE_CPU_MATH_INL_H
#endif

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace pounce::cpu {
namespace HWY_NAMESPACE {
namespace {

HWY_INLINE float sqrt(float x) {
  return std::sqrt(x);
}

// By bits: of ?: over long expressions GCC makes branches, and no vectors.
HWY_INLINE float select(bool first, float a, float b) {
  uint32_t mask = 0u - uint32_t(first);
  return std::bit_cast<float>((std::bit_cast<uint32_t>(a) & mask) |
                              (std::bit_cast<uint32_t>(b) & ~mask));
}

// 2^n for n in -126 .. 127.
HWY_INLINE float power_of_two(int32_t n) {
  return std::bit_cast<float>(uint32_t(n + 127) << 23);
}

// 2^n e^r with |r| <= ln(2) / 2. Source of the polynomial: Cephes expf.
HWY_INLINE float exp(float x) {
  constexpr float kLeast = -104.0f, kMost = 89.0f;  // beyond: 0 and infinity
  constexpr float kRound = 12582912.0f;             // 1.5 * 2^23: adding it rounds to an integer
  float bounded = select(x < kLeast, kLeast, select(x > kMost, kMost, x));
  float shifted = bounded * 1.44269504f + kRound;
  float whole = shifted - kRound;
  float r = (bounded - whole * 0.693359375f) - whole * -2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * (r * r) + r + 1.0f;
  // In two steps: 2^128 and denormal results have no single factor.
  uint32_t bits = std::bit_cast<uint32_t>(shifted) - std::bit_cast<uint32_t>(kRound);
  int32_t n = int32_t(bits);
  n = n < -150 ? -150 : (n > 128 ? 128 : n);  // of NaN, whose bits say nothing
  int32_t half = n >> 1;
  return p * power_of_two(half) * power_of_two(n - half);
}

// Of x = 2^n m with m in sqrt(1/2) .. sqrt(2). Source of the polynomial: Cephes logf.
HWY_INLINE float log(float x) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  bool tiny = x < std::numeric_limits<float>::min();
  float scaled = select(tiny, x * 33554432.0f, x);                // 2^25
  uint32_t bits = std::bit_cast<uint32_t>(scaled) - 0x3F3504F3u;  // of sqrt(1/2)
  float n = float(int32_t(bits) >> 23) - select(tiny, 25.0f, 0.0f);
  float m = std::bit_cast<float>((bits & 0x007FFFFFu) + 0x3F3504F3u) - 1.0f;
  float z = m * m;
  float p = 7.0376836292e-2f;
  p = p * m - 1.1514610310e-1f;
  p = p * m + 1.1676998740e-1f;
  p = p * m - 1.2420140846e-1f;
  p = p * m + 1.4249322787e-1f;
  p = p * m - 1.6668057665e-1f;
  p = p * m + 2.0000714765e-1f;
  p = p * m - 2.4999993993e-1f;
  p = p * m + 3.3333331174e-1f;
  float y = m * z * p + n * -2.12194440e-4f - 0.5f * z;
  y = (m + y) + n * 0.693359375f;
  y = select(x == 0.0f, -kInfinity, y);
  y = select(x == kInfinity, x, y);
  return select((x < 0.0f) | (x != x), std::numeric_limits<float>::quiet_NaN(), y);
}

// Source of the polynomial: Cephes tanhf.
HWY_INLINE float tanh(float x) {
  float size = std::fabs(x);
  float z = x * x;
  float p = -5.70498872745e-3f;
  p = p * z + 2.06390887954e-2f;
  p = p * z - 5.37397155531e-2f;
  p = p * z + 1.33314422036e-1f;
  p = p * z - 3.33332819422e-1f;
  float near = p * z * x + x;
  float far = 1.0f - 2.0f / (exp(2.0f * size) + 1.0f);
  return select(size < 0.625f, near, select(x < 0.0f, -far, far));
}

// Minimax polynomials in x near 0, and in log(1 - |erf|) beyond. Source: N. Juffa, "Efficient
// faithfully rounded implementation of error function erff()", 2016.
HWY_INLINE float erf(float x) {
  float size = std::fabs(x);
  float t = select(size > 4.0f, 4.0f, size);  // erf(4) rounds to 1
  float s = t * t;
  float near = -5.96761703e-4f;
  near = near * s + 4.99119423e-3f;
  near = near * s - 2.67681349e-2f;
  near = near * s + 1.12819925e-1f;
  near = near * s - 3.76125336e-1f;
  near = near * s + 1.28379166e-1f;
  near = near * t + t;
  float r = -1.72853470e-5f * t + 3.83197126e-4f;
  float u = -3.88396438e-3f * t + 2.42546219e-2f;
  r = r * s + u;
  r = r * t - 1.06777877e-1f;
  r = r * t - 6.34846687e-1f;
  r = r * t - 1.28717512e-1f;
  r = r * t - t;
  float far = 1.0f - exp(r);
  float y = select(t > 0.927734375f, far, near);
  return select(x < 0.0f, -y, y);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace pounce::cpu
HWY_AFTER_NAMESPACE();

#endif
