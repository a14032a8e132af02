// The register kernel that products of packed or plain operands share: 12 x 32 elements of y and
// less at the lower edge, summed over the depth in order.
// Included once for each instruction set, after highway.h (hence Highway's form of include guard).
#if defined(POUNCE_CPU_TILE_PRODUCT_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef POUNCE_CPU_TILE_PRODUCT_INL_H
#undef POUNCE_CPU_TILE_PRODUCT_INL_H
#else
#define POUNCE_CPU_TILE_PRODUCT_INL_H
#endif

#include <cstdint>

#include <hwy/highway.h>

#include "backend/cpu/panel.h"

HWY_BEFORE_NAMESPACE();
namespace pounce::cpu {
namespace HWY_NAMESPACE {
namespace {

// Element (i, k) of a is a[i * row_stride + k * depth_stride]; strides that are known when
// compiling are not 0 here.
template <int64_t kRowStride, int64_t kDepthStride>
struct TileOperand {
  const float* data;
  int64_t row_stride = kRowStride, depth_stride = kDepthStride;

  HWY_INLINE const float* row(int64_t i) const {
    return data + i * (kRowStride != 0 ? kRowStride : row_stride);
  }
  HWY_INLINE int64_t step() const { return kDepthStride != 0 ? kDepthStride : depth_stride; }
};

template <class A, int64_t kColumnDepthStride>
struct Tile {
  A a;
  TileOperand<1, kColumnDepthStride> b;  // kPanelColumns next to each other
  int64_t depth;
  float* y;
  int64_t y_stride;
  bool add;  // to what y holds
};

// 32 vector registers hold a tile of 12 x 2 vectors, 16 one of 6 x 2.
constexpr int64_t kMostTileRows = HWY_TARGET <= HWY_AVX3 ? 12 : 6;
constexpr int64_t kTileVectors = 2;

template <int64_t kRows, class T>
HWY_INLINE void multiply_tile(const T& tile) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  constexpr int64_t kLanes = int64_t(hn::MaxLanes(hn::ScalableTag<float>()));
  V sum[kRows][kTileVectors];
#pragma GCC unroll 12
  for (int64_t i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
    for (int64_t j = 0; j < kTileVectors; ++j) sum[i][j] = hn::Zero(d);
  }
  const float* HWY_RESTRICT a[kRows];
#pragma GCC unroll 12
  for (int64_t i = 0; i < kRows; ++i) a[i] = tile.a.row(i);
  const float* HWY_RESTRICT b = tile.b.data;
  for (int64_t k = 0, at = 0; k < tile.depth; ++k, at += tile.a.step()) {
    V column[kTileVectors];
#pragma GCC unroll 2
    for (int64_t j = 0; j < kTileVectors; ++j) column[j] = hn::LoadU(d, b + j * kLanes);
#pragma GCC unroll 12
    for (int64_t i = 0; i < kRows; ++i) {
      V row = hn::Set(d, a[i][at]);
#pragma GCC unroll 2
      for (int64_t j = 0; j < kTileVectors; ++j) {
        sum[i][j] = hn::MulAdd(row, column[j], sum[i][j]);
      }
    }
    b += tile.b.step();
  }
#pragma GCC unroll 12
  for (int64_t i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
    for (int64_t j = 0; j < kTileVectors; ++j) {
      float* y = tile.y + i * tile.y_stride + j * kLanes;
      V old = tile.add ? hn::LoadU(d, y) : hn::Zero(d);
      hn::StoreU(hn::Add(old, sum[i][j]), d, y);
    }
  }
}

// kRows x kPanelColumns of y.
template <int64_t kRows, class T>
HWY_INLINE void multiply_row_panel(const T& panels) {
  namespace hn = hwy::HWY_NAMESPACE;
  constexpr int64_t kTileColumns = kTileVectors * int64_t(hn::MaxLanes(hn::ScalableTag<float>()));
  constexpr int64_t kTileRows = kRows > kMostTileRows ? kRows / 2 : kRows;
  for (int64_t j = 0; j < kPanelColumns; j += kTileColumns) {
    for (int64_t i = 0; i < kRows; i += kTileRows) {
      T tile = panels;
      tile.a.data = panels.a.row(i);
      tile.b.data += j, tile.y += i * panels.y_stride + j;
      multiply_tile<kTileRows>(tile);
    }
  }
}

// `rows` x kPanelColumns of y; rows is kPanelRows or a multiple of kRowStep below it.
template <class T>
HWY_INLINE void multiply_panels(const T& panels, int64_t rows) {
  static_assert(kPanelRows == 3 * kRowStep);
  switch (rows) {
    case kPanelRows:
      return multiply_row_panel<kPanelRows>(panels);
    case 2 * kRowStep:
      return multiply_row_panel<2 * kRowStep>(panels);
    default:
      return multiply_row_panel<kRowStep>(panels);
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace pounce::cpu
HWY_AFTER_NAMESPACE();

#endif
