#include "backend/cpu/gemm.h"

#include <algorithm>
#include <cstring>

#include "backend/cpu/panel.h"
#include "backend/cpu/parallel.h"
#include "backend/cpu/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/gemm.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "backend/cpu/tile_product-inl.h"

#ifndef POUNCE_CPU_GEMM_ONCE
#define POUNCE_CPU_GEMM_ONCE
namespace pounce::cpu {
namespace {

// A panel of b (16 KiB) stays in the first-level cache while panels of a pass by.
constexpr int64_t kDepthBlock = 128;

constexpr int64_t kMostBlockColumns = 16 * kPanelColumns;
constexpr int64_t kMostLanes = 16;  // floats of a vector

// One serial piece of a product: a block of y, summed over a range of the depth.
struct GemmBlock {
  MatrixView a;
  MatrixView b;              // unless patches
  const PatchView* patches;  // operand b, or null
  int64_t row, rows, column, columns, depth_first, depth_end;
  float* y;  // of the whole product or slice
  int64_t y_stride;
  float* packed_a;
  float* packed_b;
};

}  // namespace
}  // namespace pounce::cpu
#endif  // POUNCE_CPU_GEMM_ONCE

HWY_BEFORE_NAMESPACE();
namespace pounce::cpu {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

struct DepthRange {
  int64_t first, count;
};

// In vectors, and by fours what is no whole vector.
template <int64_t kWidth>
HWY_INLINE void copy_width(const float* from, float* to) {
  const hn::ScalableTag<float> d;
  const hn::CappedTag<float, 4> part;
  constexpr int64_t kLanes = int64_t(hn::MaxLanes(hn::ScalableTag<float>()));
  constexpr int64_t kPartLanes = int64_t(hn::MaxLanes(hn::CappedTag<float, 4>()));
  constexpr int64_t kInVectors = kWidth / kLanes * kLanes;
#pragma GCC unroll 8
  for (int64_t i = 0; i < kInVectors; i += kLanes) hn::StoreU(hn::LoadU(d, from + i), d, to + i);
#pragma GCC unroll 8
  for (int64_t i = kInVectors; i < kWidth; i += kPartLanes) {
    hn::StoreU(hn::LoadU(part, from + i), part, to + i);
  }
}

// Packs kPanelRows or kPanelColumns lines from `line` on; lines at and beyond `end` are zero.
template <int64_t kWidth>
void pack_panel(const MatrixView& view, int64_t line, int64_t end, DepthRange depth, float* out) {
  int64_t lines = std::min(kWidth, end - line);
  const float* from = view.data + line * view.stride + depth.first * view.depth_stride;
  if (lines < kWidth) std::memset(out, 0, size_t(kWidth * depth.count) * sizeof(float));
  for (int64_t i = 0; i < lines; ++i) {
    for (int64_t k = 0; k < depth.count; ++k) {
      out[k * kWidth + i] = from[i * view.stride + k * view.depth_stride];
    }
  }
}

// All panels of lines [line, end), where these lie next to each other: every depth is read once,
// from one end to the other.
template <int64_t kWidth>
void pack_adjacent_lines(const MatrixView& view, int64_t line, int64_t end, DepthRange depth,
                         float* out) {
  const int64_t whole = (end - line) / kWidth * kWidth;
  for (int64_t k = 0; k < depth.count; ++k) {
    const float* from = view.data + line + (depth.first + k) * view.depth_stride;
    for (int64_t i = 0; i < whole; i += kWidth) {
      copy_width<kWidth>(from + i, out + i * depth.count + k * kWidth);
    }
  }
  if (line + whole < end) {
    pack_panel<kWidth>(view, line + whole, end, depth, out + whole * depth.count);
  }
}

template <int64_t kWidth>
void pack_lines(const MatrixView& view, int64_t line, int64_t end, DepthRange depth, float* out) {
  if (view.stride == 1) return pack_adjacent_lines<kWidth>(view, line, end, depth, out);
  for (int64_t i = line; i < end; i += kWidth) {
    pack_panel<kWidth>(view, i, end, depth, out + (i - line) * depth.count);
  }
}

// One line of one window: columns [first, end) of a kernel row, relative to that row.
struct PatchRow {
  int64_t first, end;
};

// Copies vector by vector, beyond `count` floats of both sides.
HWY_INLINE void copy_vectors(const float* from, int64_t count, float* to) {
  const hn::ScalableTag<float> d;
  for (int64_t i = 0; i < count; i += int64_t(hn::Lanes(d))) {
    hn::StoreU(hn::LoadU(d, from + i), d, to + i);
  }
}

// One line of the window whose top left corner is (h, w): its S * C values lie next to each other
// in the image, cut off at both sides by the padding. Writes up to a vector more.
HWY_INLINE void copy_patch_row(const PatchView& view, const float* image, int64_t h, int64_t w,
                               const PatchRow& row, float* out) {
  const ConvParams& p = view.conv;
  const float* line = image + (h * p.width + w) * p.channels;
  if (h >= 0 && h < p.height && w >= 0 && w + p.kernel_width <= p.width) {
    const float* end = view.data + p.batch * p.height * p.width * p.channels;
    if (end - line >= row.end + kMostLanes) {
      return copy_vectors(line + row.first, row.end - row.first, out);
    }
  }
  int64_t low = std::clamp(std::max<int64_t>(-w, 0) * p.channels, row.first, row.end);
  int64_t high = std::clamp((p.width - w) * p.channels, low, row.end);
  if (h < 0 || h >= p.height) high = low;
  std::fill(out, out + low - row.first, 0.0f);
  if (low < high) std::copy(line + low, line + high, out + low - row.first);
  std::fill(out + high - row.first, out + row.end - row.first, 0.0f);
}

// The block's part of the patch of one output pixel.
HWY_INLINE void copy_patch(const PatchView& view, const GemmBlock& block, int64_t pixel,
                           float* line) {
  const ConvParams& p = view.conv;
  const int64_t row_length = p.kernel_width * p.channels;
  const int64_t end = block.column + block.columns;
  const int64_t row = pixel / p.out_width;
  const float* image = view.data + row / p.out_height * p.height * p.width * p.channels;
  int64_t top = row % p.out_height * p.stride_h - p.pad_h;
  int64_t left = pixel % p.out_width * p.stride_w - p.pad_w;
  int64_t r = block.column / row_length;
  for (int64_t column = block.column; column < end; ++r) {
    int64_t stop = std::min(end, (r + 1) * row_length);
    PatchRow part{column - r * row_length, stop - r * row_length};
    copy_patch_row(view, image, top + r, left, part, line + column - block.column);
    column = stop;
  }
  std::fill(line + block.columns, line + round_up(block.columns, kPanelColumns), 0.0f);
}

void pack_patches(const PatchView& view, const GemmBlock& block, DepthRange depth, float* out) {
  // Some at a time: vectors cannot be loaded while the stores that they overlap are on their way.
  constexpr int64_t kAtOnce = 8;
  HWY_ALIGN float lines[kAtOnce][kMostBlockColumns + kMostLanes];
  for (int64_t first = 0; first < depth.count; first += kAtOnce) {
    int64_t count = std::min(kAtOnce, depth.count - first);
    for (int64_t k = 0; k < count; ++k) {
      copy_patch(view, block, depth.first + first + k, lines[k]);
    }
    for (int64_t i = 0; i < block.columns; i += kPanelColumns) {
      float* panel = out + i * depth.count + first * kPanelColumns;
      for (int64_t k = 0; k < count; ++k) {
        copy_width<kPanelColumns>(lines[k] + i, panel + k * kPanelColumns);
      }
    }
  }
}

using PackedTile = Tile<TileOperand<1, kPanelRows>, kPanelColumns>;

// What of an operand the next depths will pack: its cache lines are asked for while the packed ones
// are multiplied, some before each tile, for waiting for them costs as much as many products.
class NextLines {
 public:
  NextLines() = default;
  NextLines(const MatrixView& view, int64_t line, int64_t lines, DepthRange depth, int64_t tiles)
      : row_(view.data + line + depth.first * view.depth_stride),
        row_stride_(view.depth_stride),
        floats_(lines),
        rows_(view.stride == 1 ? depth.count : 0),
        at_once_(ceil_div(rows_ * ceil_div(lines, kLineFloats), tiles)) {}

  HWY_INLINE void fetch() {
    for (int64_t i = 0; i < at_once_ && rows_ > 0; ++i) {
      __builtin_prefetch(row_ + at_, 0, 2);
      at_ += kLineFloats;
      if (at_ >= floats_) at_ = 0, row_ += row_stride_, --rows_;
    }
  }

 private:
  static constexpr int64_t kLineFloats = 16;

  const float* row_ = nullptr;
  int64_t row_stride_ = 0, floats_ = 0, rows_ = 0, at_once_ = 0;
  int64_t at_ = 0;  // within the row
};

// At the edges of y: through a buffer, of which only the part that exists is kept.
void multiply_partial(PackedTile panels, int64_t rows, int64_t columns) {
  HWY_ALIGN float buffer[kPanelRows * kPanelColumns];
  float* y = panels.y;
  int64_t y_stride = panels.y_stride;
  bool add = panels.add;
  panels.y = buffer, panels.y_stride = kPanelColumns, panels.add = false;
  multiply_panels(panels, round_up(rows, kRowStep));
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      float sum = buffer[i * kPanelColumns + j];
      y[i * y_stride + j] = (add ? y[i * y_stride + j] : 0.0f) + sum;
    }
  }
}

void multiply_packed(const GemmBlock& block, int64_t depth, bool add, DepthRange next) {
  const int64_t tiles = ceil_div(block.rows, kPanelRows) * ceil_div(block.columns, kPanelColumns);
  NextLines a(block.a, block.row, block.rows, next, tiles);
  NextLines b;
  if (block.patches == nullptr) b = {block.b, block.column, block.columns, next, tiles};
  for (int64_t j = 0; j < block.columns; j += kPanelColumns) {
    int64_t columns = std::min(kPanelColumns, block.columns - j);
    for (int64_t i = 0; i < block.rows; i += kPanelRows) {
      int64_t rows = std::min(kPanelRows, block.rows - i);
      PackedTile tile{{block.packed_a + i * depth},
                      {block.packed_b + j * depth},
                      depth,
                      block.y + (block.row + i) * block.y_stride + block.column + j,
                      block.y_stride,
                      add};
      a.fetch();
      b.fetch();
      if (rows % kRowStep == 0 && columns == kPanelColumns) {
        multiply_panels(tile, rows);
      } else {
        multiply_partial(tile, rows, columns);
      }
    }
  }
}

void run_block(const GemmBlock& block) {
  for (int64_t k = block.depth_first; k < block.depth_end; k += kDepthBlock) {
    DepthRange depth{k, std::min(kDepthBlock, block.depth_end - k)};
    DepthRange next{k + depth.count, std::min(kDepthBlock, block.depth_end - k - depth.count)};
    pack_lines<kPanelRows>(block.a, block.row, block.row + block.rows, depth, block.packed_a);
    if (block.patches != nullptr) {
      pack_patches(*block.patches, block, depth, block.packed_b);
    } else {
      pack_lines<kPanelColumns>(block.b, block.column, block.column + block.columns, depth,
                                block.packed_b);
    }
    multiply_packed(block, depth.count, k != block.depth_first, next);
  }
}

void add_slices(const float* slices, int64_t count, int64_t elements, int64_t first, int64_t end,
                float* y) {
  for (int64_t i = first; i < end; ++i) y[i] = slices[i];
  for (int64_t s = 1; s < count; ++s) {
    const float* slice = slices + s * elements;
    POUNCE_VECTORIZE
    for (int64_t i = first; i < end; ++i) y[i] += slice[i];
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace pounce::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pounce::cpu {
namespace {

HWY_EXPORT(run_block);
HWY_EXPORT(add_slices);

// Pieces wanted for sharing out, where the depth may be sliced for them.
constexpr int64_t kWantedPieces = 16;
constexpr int64_t kLeastSliceDepth = 4 * kDepthBlock;
// With this many columns, 400 KB of packed operands, which stay in the second-level cache.
constexpr int64_t kMostBlockRows = 22 * kPanelRows;

// How a product is cut up: by its shape alone.
struct Tiling {
  int64_t block_rows, block_columns, row_blocks, column_blocks, slices, slice_depth;
};

// Whether every patch is one pixel, and every pixel one patch.
bool are_pixels(const ConvParams& p) {
  return p.kernel_height * p.kernel_width * p.stride_h * p.stride_w == 1 && p.pad_h + p.pad_w == 0;
}

Tiling tiling_of(const GemmShape& shape) {
  Tiling t{};
  t.row_blocks = ceil_div(shape.rows, kMostBlockRows);
  t.block_rows = round_up(ceil_div(shape.rows, t.row_blocks), kPanelRows);
  // Narrow blocks where there would be few.
  int64_t most = kMostBlockColumns;
  if (!shape.slice_depth) {
    int64_t shared = ceil_div(shape.columns * t.row_blocks, kWantedPieces);
    most = std::min(most, std::max(round_up(shared, kPanelColumns), 2 * kPanelColumns));
  }
  t.column_blocks = ceil_div(shape.columns, most);
  t.block_columns = round_up(ceil_div(shape.columns, t.column_blocks), kPanelColumns);
  int64_t slices = 1;
  if (shape.slice_depth) {
    int64_t wanted = ceil_div(kWantedPieces, t.row_blocks * t.column_blocks);
    slices = std::clamp<int64_t>(shape.depth / kLeastSliceDepth, 1, wanted);
  }
  t.slice_depth = round_up(ceil_div(shape.depth, slices), kDepthBlock);
  t.slices = ceil_div(shape.depth, t.slice_depth);
  return t;
}

int64_t packed_floats(const Tiling& t) {
  return kDepthBlock * (t.block_rows + t.block_columns);
}

void run_gemm(const GemmRun& run, const GemmBlock& operands, float* y) {
  const GemmShape& shape = run.shape;
  const Tiling t = tiling_of(shape);
  const int64_t elements = shape.rows * shape.columns;
  float* packed = static_cast<float*>(run.workspace);
  float* slices = packed + run.threads * packed_floats(t);
  auto piece = [&](int64_t index) {
    int64_t slice = index / (t.row_blocks * t.column_blocks);
    int64_t row_block = index / t.column_blocks % t.row_blocks;
    GemmBlock block = operands;
    block.row = row_block * t.block_rows;
    block.rows = std::min(t.block_rows, shape.rows - block.row);
    block.column = index % t.column_blocks * t.block_columns;
    block.columns = std::min(t.block_columns, shape.columns - block.column);
    if (block.rows <= 0 || block.columns <= 0) return;
    block.depth_first = slice * t.slice_depth;
    block.depth_end = std::min(shape.depth, block.depth_first + t.slice_depth);
    block.y = t.slices == 1 ? y : slices + slice * elements;
    block.y_stride = shape.columns;
    block.packed_a = packed + worker_index() * packed_floats(t);
    block.packed_b = block.packed_a + kDepthBlock * t.block_rows;
    HWY_DYNAMIC_DISPATCH(run_block)(block);
  };
  parallel_for(run.threads, t.slices * t.row_blocks * t.column_blocks, piece);
  if (t.slices == 1) return;
  parallel_pieces(run.threads, elements, kElementwiseGrain, [&](int64_t first, int64_t end) {
    HWY_DYNAMIC_DISPATCH(add_slices)(slices, t.slices, elements, first, end, y);
  });
}

}  // namespace

size_t gemm_workspace_bytes(const GemmShape& shape, int threads) {
  Tiling t = tiling_of(shape);
  int64_t floats = threads * packed_floats(t);
  if (t.slices > 1) floats += t.slices * shape.rows * shape.columns;
  return size_t(floats) * sizeof(float);
}

void gemm(const GemmRun& run, const MatrixView& a, const MatrixView& b, float* y) {
  GemmBlock operands{};
  operands.a = a, operands.b = b;
  run_gemm(run, operands, y);
}

void gemm(const GemmRun& run, const MatrixView& a, const PatchView& b, float* y) {
  if (are_pixels(b.conv)) return gemm(run, a, MatrixView{b.data, 1, b.conv.channels}, y);
  GemmBlock operands{};
  operands.a = a, operands.patches = &b;
  run_gemm(run, operands, y);
}

}  // namespace pounce::cpu
#endif  // HWY_ONCE
