#include <algorithm>

#include "backend/cpu/panel.h"
#include "backend/cpu/parallel.h"
#include "backend/cpu/simd.h"
#include "backend/cpu/winograd.h"
#include "backend/cpu/winograd_problem.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/winograd_weights.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "backend/cpu/tile_product-inl.h"
#include "backend/cpu/winograd_tiles-inl.h"

#ifndef POUNCE_CPU_WINOGRAD_WEIGHTS_ONCE
#define POUNCE_CPU_WINOGRAD_WEIGHTS_ONCE
namespace pounce::cpu {
namespace {

// Operands and sums of the weight gradient: of x, of grad_y, and out channels by channels.
struct WeightSpectra {
  Spectrum x, grad_y, sums;
};

}  // namespace
}  // namespace pounce::cpu
#endif  // POUNCE_CPU_WINOGRAD_WEIGHTS_ONCE

HWY_BEFORE_NAMESPACE();
namespace pounce::cpu {
namespace HWY_NAMESPACE {
namespace {

void weight_operands(const WinogradProblem& problem, Range tiles, const float* x,
                     const float* grad_y, const WeightSpectra& rows) {
  if (problem.outputs == 4) {
    transform_tiles<Winograd<4>::Input>(problem.in, x, tiles, rows.x);
    transform_tiles<Winograd<4>::OutputGradient>(problem.out, grad_y, tiles, rows.grad_y);
  } else {
    transform_tiles<Winograd<2>::Input>(problem.in, x, tiles, rows.x);
    transform_tiles<Winograd<2>::OutputGradient>(problem.out, grad_y, tiles, rows.grad_y);
  }
}

// Rows [row, row + rows) of a frequency's sums over `tiles` tiles.
void sum_weights(const WeightSpectra& spectra, int64_t frequency, Range rows, int64_t channels,
                 int64_t tiles, bool add) {
  for (int64_t c = 0; c < channels; c += kPanelColumns) {
    for (int64_t i = 0; i < rows.count; i += kPanelRows) {
      int64_t row = rows.first + i;
      Tile<TileOperand<1, 0>, 0> tile{
          .a = {.data = spectra.grad_y.at(frequency, 0, row),
                .depth_stride = spectra.grad_y.stride},
          .b = {.data = spectra.x.at(frequency, 0, c), .depth_stride = spectra.x.stride},
          .depth = tiles,
          .y = spectra.sums.at(frequency, row, c),
          .y_stride = spectra.sums.stride,
          .add = add};
      multiply_panels(tile, std::min(kPanelRows, rows.count - i));
    }
  }
}

// Row `row` of the sums, `count` channels of it, to the weights of an out channel from `weights`
// on.
template <int kOutputs>
void write_weights_of(const Spectrum& sums, int64_t row, int64_t count, int64_t tap_stride,
                      float* weights) {
  using T = typename Winograd<kOutputs>::FilterGradient;
  for (int64_t c = 0; c < count; c += kLanes) {
    const float* from = sums.at(0, row, c);
    auto load = [&](int i, int j) {
      return hn::LoadU(FloatTag(), from + (i * T::kFrom + j) * sums.frequency_stride);
    };
    transform_square<T>(load, [&](int i, int j, FloatVector v) {
      store_lanes(v, weights + (i * T::kTo + j) * tap_stride + c, count - c);
    });
  }
}

void write_weights(const WinogradProblem& problem, const Spectrum& sums, int64_t row, int64_t count,
                   float* weights) {
  if (problem.outputs == 4) {
    write_weights_of<4>(sums, row, count, problem.in.channels, weights);
  } else {
    write_weights_of<2>(sums, row, count, problem.in.channels, weights);
  }
}

// All of a block of the weights, from where spectra and `weights` begin.
void make_weights(const WinogradProblem& problem, const WeightSpectra& spectra, int64_t rows,
                  int64_t columns, float* weights) {
  for (int64_t frequency = 0; frequency < problem.frequencies(); ++frequency) {
    sum_weights(spectra, frequency, {0, round_up(rows, kRowStep)}, columns, problem.tiles(), false);
  }
  for (int64_t row = 0; row < rows; ++row) {
    write_weights(problem, spectra.sums, row, columns, weights + row * kTaps * problem.in.channels);
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace pounce::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pounce::cpu {
namespace {

HWY_EXPORT(weight_operands);
HWY_EXPORT(sum_weights);
HWY_EXPORT(write_weights);
HWY_EXPORT(make_weights);

// Tiles summed between two writes of the sums, which decides the order of addition. Of few channels
// a tile is little work: more of them between two waits of the threads for each other.
int64_t tiles_at_once(const WinogradProblem& problem) {
  return problem.in.channels * problem.out.channels < 128 * 128 ? 256 : 128;
}

constexpr int64_t kSumRows = 48;      // a piece of work
constexpr int64_t kSumColumns = 128;  // and, where its sums are weights at once, less than all

// Whether no sum waits for further tiles, so that a thread can make weights of it at once, while it
// lies in a near cache.
bool sums_at_once(const WinogradProblem& problem) {
  return problem.tiles() <= tiles_at_once(problem);
}

// What the workspace holds; without memory. The sums, of all weights or of a thread's block, which
// reads x by panels.
WeightSpectra weight_spectra(const WinogradProblem& problem) {
  const int64_t tiles = std::min(tiles_at_once(problem), problem.tiles());
  const int64_t rows = round_up(problem.out.channels, kRowStep), columns = problem.in.channels;
  const Spectrum grad_y = spectrum_of(tiles, problem.out.channels);
  if (sums_at_once(problem)) {
    return {.x = panel_spectrum_of(tiles, columns),
            .grad_y = grad_y,
            .sums = spectrum_of(std::min(rows, kSumRows), std::min(columns, kSumColumns))};
  }
  return {.x = spectrum_of(tiles, columns), .grad_y = grad_y, .sums = spectrum_of(rows, columns)};
}

int64_t floats_of(const WinogradProblem& problem, const Spectrum& spectrum) {
  return problem.frequencies() * spectrum.frequency_stride;
}

// The spectra of some tiles, into rows from 0 on.
void transform_operands(const WinogradRun& run, const WinogradProblem& problem, Range tiles,
                        const float* x, const float* grad_y, const WeightSpectra& spectra) {
  parallel_pieces(run.threads, tiles.count, kTransformTiles, [&](int64_t begin, int64_t end) {
    WeightSpectra rows = spectra;
    rows.x.data = spectra.x.at(0, begin, 0);
    rows.grad_y.data = spectra.grad_y.at(0, begin, 0);
    HWY_DYNAMIC_DISPATCH(weight_operands)
    (problem, {tiles.first + begin, end - begin}, x, grad_y, rows);
  });
}

void weights_by_blocks(const WinogradRun& run, const WinogradProblem& problem,
                       const WeightSpectra& spectra, float* grad_weights) {
  const int64_t row_pieces = ceil_div(problem.out.channels, kSumRows);
  const int64_t column_pieces = ceil_div(problem.in.channels, kSumColumns);
  parallel_for(run.threads, row_pieces * column_pieces, [&](int64_t piece) {
    const int64_t row = piece / column_pieces * kSumRows;
    const int64_t column = piece % column_pieces * kSumColumns;
    WeightSpectra block = spectra;
    block.grad_y.data = spectra.grad_y.at(0, 0, row);
    block.x.data = spectra.x.at(0, 0, column);
    block.sums.data += worker_index() * floats_of(problem, spectra.sums);
    HWY_DYNAMIC_DISPATCH(make_weights)
    (problem, block, std::min(kSumRows, problem.out.channels - row),
     std::min(kSumColumns, problem.in.channels - column),
     grad_weights + row * kTaps * problem.in.channels + column);
  });
}

void add_weights(const WinogradRun& run, const WinogradProblem& problem,
                 const WeightSpectra& spectra, int64_t tiles, bool add) {
  const int64_t out_rows = round_up(problem.out.channels, kRowStep);
  const int64_t row_pieces = ceil_div(out_rows, kSumRows);
  parallel_for(run.threads, problem.frequencies() * row_pieces, [&](int64_t piece) {
    int64_t row = piece % row_pieces * kSumRows;
    HWY_DYNAMIC_DISPATCH(sum_weights)
    (spectra, piece / row_pieces, {row, std::min(kSumRows, out_rows - row)}, problem.in.channels,
     tiles, add);
  });
}

}  // namespace

size_t winograd_weight_workspace_bytes(const WinogradProblem& problem, int threads) {
  const WeightSpectra spectra = weight_spectra(problem);
  const int64_t sums = sums_at_once(problem) ? threads : 1;
  return size_t(floats_of(problem, spectra.x) + floats_of(problem, spectra.grad_y) +
                sums * floats_of(problem, spectra.sums)) *
         sizeof(float);
}

void winograd_weights(const WinogradRun& run, const float* x, const float* grad_y,
                      float* grad_weights) {
  const WinogradProblem problem = winograd_problem(run.conv, ConvPass::Weights);
  WeightSpectra spectra = weight_spectra(problem);
  spectra.x.data = static_cast<float*>(run.workspace);
  spectra.grad_y.data = spectra.x.data + floats_of(problem, spectra.x);
  spectra.sums.data = spectra.grad_y.data + floats_of(problem, spectra.grad_y);
  if (sums_at_once(problem)) {
    transform_operands(run, problem, {0, problem.tiles()}, x, grad_y, spectra);
    return weights_by_blocks(run, problem, spectra, grad_weights);
  }
  const int64_t most = tiles_at_once(problem);
  for (int64_t first = 0; first < problem.tiles(); first += most) {
    const int64_t count = std::min(most, problem.tiles() - first);
    transform_operands(run, problem, {first, count}, x, grad_y, spectra);
    add_weights(run, problem, spectra, count, first > 0);
  }
  parallel_for(run.threads, problem.out.channels, [&](int64_t channel) {
    HWY_DYNAMIC_DISPATCH(write_weights)
    (problem, spectra.sums, channel, problem.in.channels,
     grad_weights + channel * kTaps * problem.in.channels);
  });
}

}  // namespace pounce::cpu
#endif  // HWY_ONCE
