// The one-dimensional transforms of Winograd's F(4, 3) and F(2, 3), over vectors of channels, and
// how two of them make a square one. Interpolation points 0, 1, -1 (2, -2) and infinity.
// Included once for each instruction set, after highway.h (hence Highway's form of include guard).
#if defined(POUNCE_CPU_WINOGRAD_TRANSFORMS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef POUNCE_CPU_WINOGRAD_TRANSFORMS_INL_H
#undef POUNCE_CPU_WINOGRAD_TRANSFORMS_INL_H
#else
#define POUNCE_CPU_WINOGRAD_TRANSFORMS_INL_H
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace pounce::cpu {
namespace HWY_NAMESPACE {
namespace {

using FloatTag = hwy::HWY_NAMESPACE::ScalableTag<float>;
using FloatVector = hwy::HWY_NAMESPACE::Vec<FloatTag>;

HWY_INLINE FloatVector scaled(float factor, FloatVector v) {
  return hwy::HWY_NAMESPACE::Mul(hwy::HWY_NAMESPACE::Set(FloatTag(), factor), v);
}

// factor * v + sum
HWY_INLINE FloatVector add_scaled(float factor, FloatVector v, FloatVector sum) {
  return hwy::HWY_NAMESPACE::MulAdd(hwy::HWY_NAMESPACE::Set(FloatTag(), factor), v, sum);
}

HWY_INLINE FloatVector plus(FloatVector a, FloatVector b) {
  return hwy::HWY_NAMESPACE::Add(a, b);
}

HWY_INLINE FloatVector minus(FloatVector a, FloatVector b) {
  return hwy::HWY_NAMESPACE::Sub(a, b);
}

// B^T, A^T and G of the paper, and the transposes of the last two.
template <int kOutputs>
struct Winograd;

template <>
struct Winograd<4> {
  struct Input {  // B^T
    static constexpr int kFrom = 6, kTo = 6;
    HWY_INLINE void operator()(const FloatVector (&d)[6], FloatVector (&t)[6]) const {
      FloatVector even = add_scaled(-4, d[2], d[4]), odd = add_scaled(-4, d[1], d[3]);
      FloatVector even2 = minus(d[4], d[2]), odd2 = minus(d[3], d[1]);
      t[0] = add_scaled(4, d[0], add_scaled(-5, d[2], d[4]));
      t[1] = plus(even, odd);
      t[2] = minus(even, odd);
      t[3] = add_scaled(2, odd2, even2);
      t[4] = add_scaled(-2, odd2, even2);
      t[5] = add_scaled(4, d[1], add_scaled(-5, d[3], d[5]));
    }
  };

  struct Output {  // A^T
    static constexpr int kFrom = 6, kTo = 4;
    HWY_INLINE void operator()(const FloatVector (&m)[6], FloatVector (&y)[4]) const {
      FloatVector sum = plus(m[1], m[2]), difference = minus(m[1], m[2]);
      FloatVector sum2 = plus(m[3], m[4]), difference2 = minus(m[3], m[4]);
      y[0] = plus(m[0], plus(sum, sum2));
      y[1] = add_scaled(2, difference2, difference);
      y[2] = add_scaled(4, sum2, sum);
      y[3] = plus(add_scaled(8, difference2, difference), m[5]);
    }
  };

  struct OutputGradient {  // A
    static constexpr int kFrom = 4, kTo = 6;
    HWY_INLINE void operator()(const FloatVector (&y)[4], FloatVector (&m)[6]) const {
      FloatVector even = plus(y[0], y[2]), odd = plus(y[1], y[3]);
      FloatVector even2 = add_scaled(4, y[2], y[0]);
      FloatVector odd2 = scaled(2, add_scaled(4, y[3], y[1]));
      m[0] = y[0];
      m[1] = plus(even, odd);
      m[2] = minus(even, odd);
      m[3] = plus(even2, odd2);
      m[4] = minus(even2, odd2);
      m[5] = y[3];
    }
  };

  struct Filter {  // G
    static constexpr int kFrom = 3, kTo = 6;
    HWY_INLINE void operator()(const FloatVector (&g)[3], FloatVector (&u)[6]) const {
      FloatVector ends = scaled(-1.0f / 6, plus(g[0], g[2])), middle = scaled(1.0f / 6, g[1]);
      FloatVector ends2 = scaled(1.0f / 24, add_scaled(4, g[2], g[0]));
      FloatVector middle2 = scaled(1.0f / 12, g[1]);
      u[0] = scaled(0.25f, g[0]);
      u[1] = minus(ends, middle);
      u[2] = plus(ends, middle);
      u[3] = plus(ends2, middle2);
      u[4] = minus(ends2, middle2);
      u[5] = g[2];
    }
  };

  struct FilterGradient {  // G^T
    static constexpr int kFrom = 6, kTo = 3;
    HWY_INLINE void operator()(const FloatVector (&u)[6], FloatVector (&g)[3]) const {
      FloatVector sum = scaled(1.0f / 6, plus(u[1], u[2])), sum2 = plus(u[3], u[4]);
      FloatVector difference = scaled(1.0f / 6, minus(u[2], u[1]));
      g[0] = add_scaled(1.0f / 24, sum2, minus(scaled(0.25f, u[0]), sum));
      g[1] = add_scaled(1.0f / 12, minus(u[3], u[4]), difference);
      g[2] = add_scaled(1.0f / 6, sum2, minus(u[5], sum));
    }
  };
};

template <>
struct Winograd<2> {
  struct Input {
    static constexpr int kFrom = 4, kTo = 4;
    HWY_INLINE void operator()(const FloatVector (&d)[4], FloatVector (&t)[4]) const {
      t[0] = minus(d[0], d[2]);
      t[1] = plus(d[1], d[2]);
      t[2] = minus(d[2], d[1]);
      t[3] = minus(d[1], d[3]);
    }
  };

  struct Output {
    static constexpr int kFrom = 4, kTo = 2;
    HWY_INLINE void operator()(const FloatVector (&m)[4], FloatVector (&y)[2]) const {
      y[0] = plus(m[0], plus(m[1], m[2]));
      y[1] = minus(minus(m[1], m[2]), m[3]);
    }
  };

  struct OutputGradient {
    static constexpr int kFrom = 2, kTo = 4;
    HWY_INLINE void operator()(const FloatVector (&y)[2], FloatVector (&m)[4]) const {
      m[0] = y[0];
      m[1] = plus(y[0], y[1]);
      m[2] = minus(y[0], y[1]);
      m[3] = hwy::HWY_NAMESPACE::Neg(y[1]);
    }
  };

  struct Filter {
    static constexpr int kFrom = 3, kTo = 4;
    HWY_INLINE void operator()(const FloatVector (&g)[3], FloatVector (&u)[4]) const {
      FloatVector ends = scaled(0.5f, plus(g[0], g[2])), middle = scaled(0.5f, g[1]);
      u[0] = g[0];
      u[1] = plus(ends, middle);
      u[2] = minus(ends, middle);
      u[3] = g[2];
    }
  };

  struct FilterGradient {
    static constexpr int kFrom = 4, kTo = 3;
    HWY_INLINE void operator()(const FloatVector (&u)[4], FloatVector (&g)[3]) const {
      FloatVector sum = scaled(0.5f, plus(u[1], u[2]));
      g[0] = plus(u[0], sum);
      g[1] = scaled(0.5f, minus(u[1], u[2]));
      g[2] = plus(sum, u[3]);
    }
  };
};

// T along both sides of a square: load(row, column) gives its kFrom x kFrom vectors,
// store(row, column, vector) takes kTo x kTo.
template <class T, class Load, class Store>
HWY_INLINE void transform_square(const Load& load, const Store& store) {
  FloatVector half[T::kTo][T::kFrom];
#pragma GCC unroll 6
  for (int column = 0; column < T::kFrom; ++column) {
    FloatVector from[T::kFrom], to[T::kTo];
#pragma GCC unroll 6
    for (int row = 0; row < T::kFrom; ++row) from[row] = load(row, column);
    T()(from, to);
#pragma GCC unroll 6
    for (int row = 0; row < T::kTo; ++row) half[row][column] = to[row];
  }
#pragma GCC unroll 6
  for (int row = 0; row < T::kTo; ++row) {
    FloatVector to[T::kTo];
    T()(half[row], to);
#pragma GCC unroll 6
    for (int column = 0; column < T::kTo; ++column) store(row, column, to[column]);
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace pounce::cpu
HWY_AFTER_NAMESPACE();

#endif
