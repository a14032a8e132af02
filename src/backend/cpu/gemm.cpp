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

// A panel of b (32 KiB) stays in the first-level cache while panels of a pass by.
constexpr int64_t kDepthBlock = 256;

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

// Packs `width` lines from `line` on; lines at and beyond `end` are zero.
void pack_panel(const MatrixView& view, int64_t line, int64_t end, int64_t width, DepthRange depth,
                float* out) {
  int64_t lines = std::min(width, end - line);
  const float* from = view.data + line * view.stride + depth.first * view.depth_stride;
  if (lines < width) std::memset(out, 0, size_t(width * depth.count) * sizeof(float));
  if (view.stride == 1 && lines == width) {
    for (int64_t k = 0; k < depth.count; ++k) {
      for (int64_t i = 0; i < width; ++i) out[k * width + i] = from[k * view.depth_stride + i];
    }
    return;
  }
  for (int64_t i = 0; i < lines; ++i) {
    for (int64_t k = 0; k < depth.count; ++k) {
      out[k * width + i] = from[i * view.stride + k * view.depth_stride];
    }
  }
}

// Writes columns [first, first + count) of one depth into panels; `from` null: zeros.
HWY_INLINE void scatter_columns(const float* from, int64_t first, int64_t count,
                                int64_t panel_stride, float* out) {
  while (count > 0) {
    int64_t within = first % kPanelColumns;
    int64_t run = std::min(count, kPanelColumns - within);
    float* to = out + first / kPanelColumns * panel_stride + within;
    if (from == nullptr) {
      for (int64_t i = 0; i < run; ++i) to[i] = 0;
    } else if (run == kPanelColumns) {
      for (int64_t i = 0; i < kPanelColumns; ++i) to[i] = from[i];
    } else {
      for (int64_t i = 0; i < run; ++i) to[i] = from[i];
    }
    if (from != nullptr) from += run;
    first += run, count -= run;
  }
}

// One line of one window: columns [first, end) of kernel row `r`, relative to that row.
struct PatchRow {
  int64_t first, end;
  int64_t to;  // of `first`, within the block
};

// Kernel row r of the window whose top left corner is (h, w): its S * C values lie next to each
// other in the image, cut off at both sides by the padding.
HWY_INLINE void pack_patch_row(const PatchView& view, const float* image, int64_t h, int64_t w,
                               const PatchRow& row, int64_t panel_stride, float* out) {
  const ConvParams& p = view.conv;
  int64_t low = std::clamp(std::max<int64_t>(-w, 0) * p.channels, row.first, row.end);
  int64_t high = std::clamp((p.width - w) * p.channels, low, row.end);
  if (h < 0 || h >= p.height) high = low;
  scatter_columns(nullptr, row.to, low - row.first, panel_stride, out);
  if (high > low) {
    const float* from = image + (h * p.width + w) * p.channels + low;
    scatter_columns(from, row.to + low - row.first, high - low, panel_stride, out);
  }
  scatter_columns(nullptr, row.to + high - row.first, row.end - high, panel_stride, out);
}

void pack_patches(const PatchView& view, const GemmBlock& block, DepthRange depth, float* out) {
  const ConvParams& p = view.conv;
  const int64_t row_length = p.kernel_width * p.channels;
  const int64_t panel_stride = kPanelColumns * depth.count;
  const int64_t end = block.column + block.columns;
  const int64_t padded = round_up(block.columns, kPanelColumns);
  int64_t q = depth.first % p.out_width;
  int64_t line = depth.first / p.out_width;
  for (int64_t k = 0; k < depth.count; ++k) {
    float* to = out + k * kPanelColumns;
    const float* image = view.data + line / p.out_height * p.height * p.width * p.channels;
    int64_t top = line % p.out_height * p.stride_h - p.pad_h;
    int64_t left = q * p.stride_w - p.pad_w;
    for (int64_t column = block.column; column < end;) {
      int64_t r = column / row_length;
      int64_t stop = std::min(end, (r + 1) * row_length);
      PatchRow row{column - r * row_length, stop - r * row_length, column - block.column};
      pack_patch_row(view, image, top + r, left, row, panel_stride, to);
      column = stop;
    }
    scatter_columns(nullptr, block.columns, padded - block.columns, panel_stride, to);
    if (++q == p.out_width) q = 0, ++line;
  }
}

using PackedTile = Tile<TileOperand<1, kPanelRows>, kPanelColumns>;

// At the edges of y: through a buffer, of which only the part that exists is kept.
void multiply_partial(PackedTile panels, int64_t rows, int64_t columns) {
  HWY_ALIGN float buffer[kPanelRows * kPanelColumns];
  float* y = panels.y;
  int64_t y_stride = panels.y_stride;
  bool add = panels.add;
  panels.y = buffer, panels.y_stride = kPanelColumns, panels.add = false;
  multiply_panels(panels, kPanelRows);
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      float sum = buffer[i * kPanelColumns + j];
      y[i * y_stride + j] = (add ? y[i * y_stride + j] : 0.0f) + sum;
    }
  }
}

void multiply_packed(const GemmBlock& block, int64_t depth, bool add) {
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
      if (rows == kPanelRows && columns == kPanelColumns) {
        multiply_panels(tile, kPanelRows);
      } else {
        multiply_partial(tile, rows, columns);
      }
    }
  }
}

void run_block(const GemmBlock& block) {
  for (int64_t k = block.depth_first; k < block.depth_end; k += kDepthBlock) {
    DepthRange depth{k, std::min(kDepthBlock, block.depth_end - k)};
    for (int64_t i = 0; i < block.rows; i += kPanelRows) {
      pack_panel(block.a, block.row + i, block.row + block.rows, kPanelRows, depth,
                 block.packed_a + i * depth.count);
    }
    if (block.patches != nullptr) {
      pack_patches(*block.patches, block, depth, block.packed_b);
    } else {
      for (int64_t j = 0; j < block.columns; j += kPanelColumns) {
        pack_panel(block.b, block.column + j, block.column + block.columns, kPanelColumns, depth,
                   block.packed_b + j * depth.count);
      }
    }
    multiply_packed(block, depth.count, k != block.depth_first);
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
constexpr int64_t kMostBlockRows = 16 * kPanelRows;
constexpr int64_t kMostBlockColumns = 16 * kPanelColumns;
// Of a and b together: what of the second-level cache one block may take.
constexpr int64_t kBlockArea = kMostBlockRows * 8 * kPanelColumns;

// How a product is cut up: by its shape alone.
struct Tiling {
  int64_t block_rows, block_columns, row_blocks, column_blocks, slices, slice_depth;
};

Tiling tiling_of(const GemmShape& shape) {
  Tiling t{};
  t.row_blocks = ceil_div(shape.rows, kMostBlockRows);
  t.block_rows = round_up(ceil_div(shape.rows, t.row_blocks), kPanelRows);
  // Narrow blocks where there would be few; wide ones where rows are few and packing a is cheap.
  int64_t most = std::clamp(kBlockArea / t.block_rows, kPanelColumns, kMostBlockColumns);
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
  GemmBlock operands{};
  operands.a = a, operands.patches = &b;
  run_gemm(run, operands, y);
}

}  // namespace pounce::cpu
#endif  // HWY_ONCE
