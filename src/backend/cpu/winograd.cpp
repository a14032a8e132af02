#include "backend/cpu/winograd.h"

#include <algorithm>

#include "backend/cpu/panel.h"
#include "backend/cpu/parallel.h"
#include "backend/cpu/simd.h"
#include "backend/cpu/winograd_problem.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/winograd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "backend/cpu/tile_product-inl.h"
#include "backend/cpu/winograd_tiles-inl.h"

#ifndef POUNCE_CPU_WINOGRAD_ONCE
#define POUNCE_CPU_WINOGRAD_ONCE
namespace pounce::cpu {
namespace {

// A thread's share of it at a time: all of it for some tiles, or for all tiles some of y's
// channels.
struct Block {
  Range tiles;
  Spectrum spectrum;
  const float* x = nullptr;
  const float* filters = nullptr;
  Spectrum products = {};
  float* y = nullptr;
};

}  // namespace
}  // namespace pounce::cpu
#endif  // POUNCE_CPU_WINOGRAD_ONCE

HWY_BEFORE_NAMESPACE();
namespace pounce::cpu {
namespace HWY_NAMESPACE {
namespace {

// Columns [column, column + kLanes) of a filter's tap; those that do not exist are 0.
HWY_INLINE FloatVector load_filter(const FilterView& filter, const float* from, int64_t column) {
  const int64_t count = std::min(kLanes, filter.columns - column);
  if (filter.column_stride == 1) return load_lanes(from + column, count);
  HWY_ALIGN float lanes[kLanes] = {};
  for (int64_t i = 0; i < count; ++i) lanes[i] = from[(column + i) * filter.column_stride];
  return hn::Load(FloatTag(), lanes);
}

// Writes one panel of the filters of every frequency.
template <class T>
void transform_filters(const FilterView& filter, const float* weights, int64_t panel, float* out) {
  const FilterPanels panels{filter.depth, filter.columns};
  for (int64_t depth = 0; depth < filter.depth; ++depth) {
    for (int64_t lane = 0; lane < kPanelColumns; lane += kLanes) {
      float* to = out + (panel * filter.depth + depth) * kPanelColumns + lane;
      auto load = [&](int i, int j) {
        int64_t tap = filter.is_rotated ? kTaps - 1 - (i * 3 + j) : i * 3 + j;
        const float* from = weights + depth * filter.depth_stride + tap * filter.tap_stride;
        return load_filter(filter, from, panel * kPanelColumns + lane);
      };
      transform_square<T>(load, [&](int i, int j, FloatVector v) {
        hn::StoreU(v, FloatTag(), to + (i * T::kTo + j) * panels.frequency_stride());
      });
    }
  }
}

// products[frequency] = spectrum[frequency] filters[frequency], `rows` a multiple of kRowStep.
void multiply_filters(const WinogradProblem& problem, const Spectrum& spectrum, int64_t rows,
                      const float* filters, const Spectrum& products) {
  const FilterPanels panels = problem.panels();
  for (int64_t f = 0; f < problem.frequencies(); ++f) {
    for (int64_t panel = 0; panel < panels.panels(); ++panel) {
      const float* b =
          filters + f * panels.frequency_stride() + panel * panels.depth * kPanelColumns;
      for (int64_t row = 0; row < rows; row += kPanelRows) {
        Tile<TileOperand<0, 1>, kPanelColumns> tile{
            .a = {.data = spectrum.at(f, row, 0), .row_stride = spectrum.stride},
            .b = {.data = b},
            .depth = panels.depth,
            .y = products.at(f, row, panel * kPanelColumns),
            .y_stride = products.stride,
            .add = false};
        multiply_panels(tile, std::min(kPanelRows, rows - row));
      }
    }
  }
}

void filter_panel(const WinogradProblem& problem, const float* weights, int64_t panel,
                  float* filters) {
  if (problem.outputs == 4) {
    transform_filters<Winograd<4>::Filter>(problem.filter, weights, panel, filters);
  } else {
    transform_filters<Winograd<2>::Filter>(problem.filter, weights, panel, filters);
  }
}

// One step of a block each.
void transform_block(const WinogradProblem& problem, const Block& block) {
  if (problem.outputs == 4) {
    transform_tiles<Winograd<4>::Input>(problem.in, block.x, block.tiles, block.spectrum);
  } else {
    transform_tiles<Winograd<2>::Input>(problem.in, block.x, block.tiles, block.spectrum);
  }
}

void filter_block(const WinogradProblem& problem, const Block& block) {
  multiply_filters(problem, block.spectrum, round_up(block.tiles.count, kRowStep), block.filters,
                   block.products);
  if (problem.outputs == 4) {
    write_tiles<Winograd<4>::Output>(problem.out, block.products, block.tiles, block.y);
  } else {
    write_tiles<Winograd<2>::Output>(problem.out, block.products, block.tiles, block.y);
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace pounce::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pounce::cpu {
namespace {

HWY_EXPORT(filter_panel);
HWY_EXPORT(transform_block);
HWY_EXPORT(filter_block);

// Tiles a thread works on at once: enough to use a panel of filters while it lies in the cache,
// few enough for their spectra to stay in the second level where channels are few.
constexpr int64_t kMostBlockTiles = 48;

int64_t block_tiles(int64_t tiles, int threads) {
  int64_t rounds = ceil_div(tiles, kMostBlockTiles * threads);
  return round_up(ceil_div(tiles, rounds * threads), kRowStep);
}

// Few tiles: every filter is used a few times only, so that making a panel of them and using it at
// once, while it lies in a near cache, beats making them all first.
bool goes_by_panels(const WinogradProblem& problem) {
  return problem.tiles() <= 2 * kMostBlockTiles;
}

// The part of a problem that makes one panel of y's channels; its weights and y begin there.
WinogradProblem panel_of(const WinogradProblem& problem, int64_t panel) {
  WinogradProblem part = problem;
  part.filter.columns = std::min(kPanelColumns, problem.filter.columns - panel * kPanelColumns);
  part.out.channels = part.filter.columns;
  return part;
}

// What both orders of work keep in the workspace: shared memory, then each thread's.
struct FilterMemory {
  int64_t filters;  // floats
  Spectrum spectrum, products;
  int64_t shared, of_thread;  // floats
};

FilterMemory filter_memory(const WinogradProblem& problem, int threads) {
  const bool by_panels = goes_by_panels(problem);
  const int64_t rows =
      by_panels ? round_up(problem.tiles(), kRowStep) : block_tiles(problem.tiles(), threads);
  const WinogradProblem part = by_panels ? panel_of(problem, 0) : problem;
  FilterMemory memory{};
  memory.filters = problem.frequencies() * part.panels().frequency_stride();
  memory.spectrum = spectrum_of(rows, problem.in.channels);
  memory.products = spectrum_of(rows, part.out.channels);
  const int64_t spectrum = problem.frequencies() * memory.spectrum.frequency_stride;
  const int64_t products = problem.frequencies() * memory.products.frequency_stride;
  memory.shared = by_panels ? spectrum : memory.filters;
  memory.of_thread = products + (by_panels ? memory.filters : spectrum);
  return memory;
}

// Filters first, then tiles, some at a time.
void filter_by_tiles(const WinogradRun& run, const WinogradProblem& problem, const float* x,
                     const float* weights, float* y) {
  const FilterMemory memory = filter_memory(problem, run.threads);
  float* filters = static_cast<float*>(run.workspace);
  parallel_for(run.threads, problem.panels().panels(), [&](int64_t panel) {
    HWY_DYNAMIC_DISPATCH(filter_panel)(problem, weights, panel, filters);
  });
  const int64_t rows = block_tiles(problem.tiles(), run.threads);
  parallel_for(run.threads, ceil_div(problem.tiles(), rows), [&](int64_t index) {
    Block block{.tiles = {index * rows, std::min(rows, problem.tiles() - index * rows)},
                .spectrum = memory.spectrum,
                .x = x,
                .filters = filters,
                .products = memory.products,
                .y = y};
    block.spectrum.data = filters + memory.shared + worker_index() * memory.of_thread;
    block.products.data =
        block.spectrum.data + problem.frequencies() * memory.spectrum.frequency_stride;
    HWY_DYNAMIC_DISPATCH(transform_block)(problem, block);
    HWY_DYNAMIC_DISPATCH(filter_block)(problem, block);
  });
}

// Tiles first, then filters, a panel at a time.
void filter_by_panels(const WinogradRun& run, const WinogradProblem& problem, const float* x,
                      const float* weights, float* y) {
  const FilterMemory memory = filter_memory(problem, run.threads);
  Spectrum spectrum = memory.spectrum;
  spectrum.data = static_cast<float*>(run.workspace);
  parallel_pieces(run.threads, problem.tiles(), kTransformTiles, [&](int64_t first, int64_t end) {
    Block block{.tiles = {first, end - first}, .spectrum = spectrum, .x = x};
    block.spectrum.data = spectrum.at(0, first, 0);
    HWY_DYNAMIC_DISPATCH(transform_block)(problem, block);
  });
  parallel_for(run.threads, problem.panels().panels(), [&](int64_t panel) {
    const WinogradProblem part = panel_of(problem, panel);
    const int64_t column = panel * kPanelColumns;
    float* filters = spectrum.data + memory.shared + worker_index() * memory.of_thread;
    HWY_DYNAMIC_DISPATCH(filter_panel)
    (part, weights + column * problem.filter.column_stride, 0, filters);
    Block block{.tiles = {0, problem.tiles()},
                .spectrum = spectrum,
                .filters = filters,
                .products = memory.products,
                .y = y + column};
    block.products.data = filters + memory.filters;
    HWY_DYNAMIC_DISPATCH(filter_block)(part, block);
  });
}

// Forward pass and data gradient.
void filter_images(const WinogradRun& run, const WinogradProblem& problem, const float* x,
                   const float* weights, float* y) {
  auto filter = goes_by_panels(problem) ? filter_by_panels : filter_by_tiles;
  filter(run, problem, x, weights, y);
}

}  // namespace

size_t winograd_filter_workspace_bytes(const WinogradProblem& problem, int threads) {
  FilterMemory memory = filter_memory(problem, threads);
  return size_t(memory.shared + threads * memory.of_thread) * sizeof(float);
}

void winograd_forward(const WinogradRun& run, const float* x, const float* weights, float* y) {
  filter_images(run, winograd_problem(run.conv, ConvPass::Forward), x, weights, y);
}

void winograd_data(const WinogradRun& run, const float* grad_y, const float* weights,
                   float* grad_x) {
  filter_images(run, winograd_problem(run.conv, ConvPass::Data), grad_y, weights, grad_x);
}

}  // namespace pounce::cpu
#endif  // HWY_ONCE
