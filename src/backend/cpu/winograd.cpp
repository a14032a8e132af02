#include "backend/cpu/winograd.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "backend/cpu/panel.h"
#include "backend/cpu/parallel.h"
#include "backend/cpu/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/winograd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "backend/cpu/tile_product-inl.h"
#include "backend/cpu/winograd_transforms-inl.h"

#ifndef POUNCE_CPU_WINOGRAD_ONCE
#define POUNCE_CPU_WINOGRAD_ONCE
namespace pounce::cpu {
namespace {

constexpr int64_t kTaps = 9;

// A side of the image cut into overlapping or adjoining tiles: NHWC data, of which tile (h, w)
// begins `pad` before (h, w) * step. The channels may be some of `pixel_stride`.
struct TiledImages {
  int64_t height, width, channels, pixel_stride;
  int64_t pad_h = 0, pad_w = 0;
  int64_t step = 0, tiles_h = 0, tiles_w = 0;
};

struct Range {
  int64_t first, count;
};

// For every frequency a matrix whose rows are tiles and whose columns are channels.
struct Spectrum {
  float* data;
  int64_t stride, frequency_stride;

  float* at(int64_t frequency, int64_t row) const {
    return data + frequency * frequency_stride + row * stride;
  }
};

// Element (depth, column) of the filter at `tap` is
// weights[depth * depth_stride + column * column_stride + tap * tap_stride].
struct FilterView {
  int64_t depth, columns, depth_stride, column_stride, tap_stride;
  bool is_rotated;  // taps from the last to the first
};

// Filters of a frequency in panels of kPanelColumns: column / 32, depth, column % 32.
struct FilterPanels {
  int64_t depth, columns;

  int64_t panels() const { return ceil_div(columns, kPanelColumns); }
  int64_t frequency_stride() const { return panels() * depth * kPanelColumns; }
};

// Forward pass or data gradient, which is a forward pass from grad_y with rotated filters.
struct Problem {
  int64_t images;
  int outputs;  // side of a tile's result: 4 or 2
  TiledImages in, out;
  FilterView filter;

  int64_t frequencies() const { return (outputs + 2) * (outputs + 2); }
  int64_t tiles() const { return images * in.tiles_h * in.tiles_w; }
  FilterPanels panels() const { return {filter.depth, filter.columns}; }
};

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

// Operands and sums of the weight gradient: of x, of grad_y, and out channels by channels.
struct WeightSpectra {
  Spectrum x, grad_y, sums;
};

}  // namespace
}  // namespace pounce::cpu
#endif  // POUNCE_CPU_WINOGRAD_ONCE

HWY_BEFORE_NAMESPACE();
namespace pounce::cpu {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr int64_t kLanes = int64_t(hn::MaxLanes(FloatTag()));

// Lanes from `count` on are 0.
HWY_INLINE FloatVector load_lanes(const float* from, int64_t count) {
  if (count >= kLanes) return hn::LoadU(FloatTag(), from);
  HWY_ALIGN float lanes[kLanes] = {};
  std::copy_n(from, count, lanes);
  return hn::Load(FloatTag(), lanes);
}

HWY_INLINE void store_lanes(FloatVector v, float* to, int64_t count) {
  if (count >= kLanes) return hn::StoreU(v, FloatTag(), to);
  HWY_ALIGN float lanes[kLanes];
  hn::Store(v, FloatTag(), lanes);
  std::copy_n(lanes, count, to);
}

// Where a tile lies.
struct TilePlace {
  TilePlace(const TiledImages& images, int64_t tile) {
    int64_t tiles = images.tiles_h * images.tiles_w;
    top = tile % tiles / images.tiles_w * images.step - images.pad_h;
    left = tile % images.tiles_w * images.step - images.pad_w;
    origin = ((tile / tiles * images.height + top) * images.width + left) * images.pixel_stride;
    row_stride = images.width * images.pixel_stride;
  }

  int64_t top, left;
  int64_t origin;  // offset of its first pixel, which may lie outside
  int64_t row_stride;
};

// Writes the spectra of tiles [first, first + count) into rows 0 .. count - 1.
template <class T>
void transform_tiles(const TiledImages& images, const float* data, Range tiles,
                     const Spectrum& spectrum) {
  for (int64_t row = 0; row < tiles.count; ++row) {
    const TilePlace place(images, tiles.first + row);
    const bool is_inside = place.top >= 0 && place.left >= 0 &&
                           place.top + T::kFrom <= images.height &&
                           place.left + T::kFrom <= images.width;
    for (int64_t c = 0; c < images.channels; c += kLanes) {
      const int64_t count = images.channels - c;
      float* to = spectrum.at(0, row) + c;
      auto store = [&](int i, int j, FloatVector v) {
        hn::StoreU(v, FloatTag(), to + (i * T::kTo + j) * spectrum.frequency_stride);
      };
      auto at = [&](int i, int j) {
        return data + place.origin + i * place.row_stride + j * images.pixel_stride + c;
      };
      if (is_inside && count >= kLanes) {
        transform_square<T>([&](int i, int j) { return hn::LoadU(FloatTag(), at(i, j)); }, store);
        continue;
      }
      auto load = [&](int i, int j) {
        bool is_pixel = uint64_t(place.top + i) < uint64_t(images.height) &&
                        uint64_t(place.left + j) < uint64_t(images.width);
        return is_pixel ? load_lanes(at(i, j), count) : hn::Zero(FloatTag());
      };
      transform_square<T>(load, store);
    }
  }
}

// The other way: rows of spectra become tiles of the images, cut off where these end.
template <class T>
void write_tiles(const TiledImages& images, const Spectrum& spectrum, Range tiles, float* data) {
  for (int64_t row = 0; row < tiles.count; ++row) {
    const TilePlace place(images, tiles.first + row);
    const bool is_inside =
        place.top + T::kTo <= images.height && place.left + T::kTo <= images.width;
    for (int64_t c = 0; c < images.channels; c += kLanes) {
      const int64_t count = images.channels - c;
      const float* from = spectrum.at(0, row) + c;
      auto load = [&](int i, int j) {
        return hn::LoadU(FloatTag(), from + (i * T::kFrom + j) * spectrum.frequency_stride);
      };
      transform_square<T>(load, [&](int i, int j, FloatVector v) {
        if (!is_inside && (place.top + i >= images.height || place.left + j >= images.width)) {
          return;
        }
        store_lanes(v, data + place.origin + i * place.row_stride + j * images.pixel_stride + c,
                    count);
      });
    }
  }
}

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
void multiply_filters(const Problem& problem, const Spectrum& spectrum, int64_t rows,
                      const float* filters, const Spectrum& products) {
  const FilterPanels panels = problem.panels();
  for (int64_t f = 0; f < problem.frequencies(); ++f) {
    for (int64_t panel = 0; panel < panels.panels(); ++panel) {
      const float* b =
          filters + f * panels.frequency_stride() + panel * panels.depth * kPanelColumns;
      for (int64_t row = 0; row < rows; row += kPanelRows) {
        Tile<TileOperand<0, 1>, kPanelColumns> tile{
            .a = {.data = spectrum.at(f, row), .row_stride = spectrum.stride},
            .b = {.data = b},
            .depth = panels.depth,
            .y = products.at(f, row) + panel * kPanelColumns,
            .y_stride = products.stride,
            .add = false};
        multiply_panels(tile, std::min(kPanelRows, rows - row));
      }
    }
  }
}

void filter_panel(const Problem& problem, const float* weights, int64_t panel, float* filters) {
  if (problem.outputs == 4) {
    transform_filters<Winograd<4>::Filter>(problem.filter, weights, panel, filters);
  } else {
    transform_filters<Winograd<2>::Filter>(problem.filter, weights, panel, filters);
  }
}

// One step of a block each.
void transform_block(const Problem& problem, const Block& block) {
  if (problem.outputs == 4) {
    transform_tiles<Winograd<4>::Input>(problem.in, block.x, block.tiles, block.spectrum);
  } else {
    transform_tiles<Winograd<2>::Input>(problem.in, block.x, block.tiles, block.spectrum);
  }
}

void filter_block(const Problem& problem, const Block& block) {
  multiply_filters(problem, block.spectrum, round_up(block.tiles.count, kRowStep), block.filters,
                   block.products);
  if (problem.outputs == 4) {
    write_tiles<Winograd<4>::Output>(problem.out, block.products, block.tiles, block.y);
  } else {
    write_tiles<Winograd<2>::Output>(problem.out, block.products, block.tiles, block.y);
  }
}

void weight_operands(const Problem& problem, Range tiles, const float* x, const float* grad_y,
                     const WeightSpectra& rows) {
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
          .a = {.data = spectra.grad_y.at(frequency, 0) + row,
                .depth_stride = spectra.grad_y.stride},
          .b = {.data = spectra.x.at(frequency, 0) + c, .depth_stride = spectra.x.stride},
          .depth = tiles,
          .y = spectra.sums.at(frequency, row) + c,
          .y_stride = spectra.sums.stride,
          .add = add};
      multiply_panels(tile, std::min(kPanelRows, rows.count - i));
    }
  }
}

template <int kOutputs>
void write_weights_of(const Spectrum& sums, int64_t out_channel, int64_t channels, float* weights) {
  using T = typename Winograd<kOutputs>::FilterGradient;
  for (int64_t c = 0; c < channels; c += kLanes) {
    const float* from = sums.at(0, out_channel) + c;
    float* to = weights + out_channel * kTaps * channels + c;
    auto load = [&](int i, int j) {
      return hn::LoadU(FloatTag(), from + (i * T::kFrom + j) * sums.frequency_stride);
    };
    transform_square<T>(load, [&](int i, int j, FloatVector v) {
      store_lanes(v, to + (i * T::kTo + j) * channels, channels - c);
    });
  }
}

void write_weights(const Problem& problem, const Spectrum& sums, int64_t out_channel,
                   float* weights) {
  if (problem.outputs == 4) {
    write_weights_of<4>(sums, out_channel, problem.in.channels, weights);
  } else {
    write_weights_of<2>(sums, out_channel, problem.in.channels, weights);
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
HWY_EXPORT(weight_operands);
HWY_EXPORT(sum_weights);
HWY_EXPORT(write_weights);

// Rows of an operand that start a multiple of 4 KiB apart would compete for the same lines of the
// first-level cache.
constexpr int64_t kSkew = 16;

// Tiles a thread works on at once: enough to use a panel of filters while it lies in the cache,
// few enough for their spectra to stay in the second level where channels are few.
constexpr int64_t kMostBlockTiles = 48;
constexpr int64_t kTransformTiles = 16;  // a piece of work where tiles are transformed alone

// Multiplications of a tile's channel pair, by the side of its result.
constexpr int64_t multiplications(int64_t outputs, int64_t height, int64_t width) {
  return ceil_div(height, outputs) * ceil_div(width, outputs) * (outputs + 2) * (outputs + 2);
}

int tile_outputs(int64_t height, int64_t width) {
  return multiplications(2, height, width) < multiplications(4, height, width) ? 2 : 4;
}

Problem problem_of(const ConvParams& p, ConvPass pass) {
  const bool is_data = pass == ConvPass::Data;
  Problem problem{};
  problem.images = p.batch;
  problem.in = {p.height, p.width, p.channels, p.channels, p.pad_h, p.pad_w};
  problem.out = {p.out_height, p.out_width, p.out_channels, p.out_channels};
  problem.filter = {.depth = p.channels,
                    .columns = p.out_channels,
                    .depth_stride = 1,
                    .column_stride = kTaps * p.channels,
                    .tap_stride = p.channels,
                    .is_rotated = is_data};
  if (is_data) {
    std::swap(problem.in, problem.out);
    problem.in.pad_h = 2 - p.pad_h, problem.in.pad_w = 2 - p.pad_w;
    problem.out.pad_h = problem.out.pad_w = 0;
    std::swap(problem.filter.depth, problem.filter.columns);
    std::swap(problem.filter.depth_stride, problem.filter.column_stride);
  }
  problem.outputs = tile_outputs(problem.out.height, problem.out.width);
  problem.in.step = problem.out.step = problem.outputs;
  problem.in.tiles_h = problem.out.tiles_h = ceil_div(problem.out.height, problem.outputs);
  problem.in.tiles_w = problem.out.tiles_w = ceil_div(problem.out.width, problem.outputs);
  return problem;
}

int64_t block_tiles(int64_t tiles, int threads) {
  int64_t rounds = ceil_div(tiles, kMostBlockTiles * threads);
  return round_up(ceil_div(tiles, rounds * threads), kRowStep);
}

Spectrum spectrum_of(int64_t rows, int64_t channels) {
  int64_t stride = round_up(channels, kPanelColumns) + kSkew;
  return {nullptr, stride, rows * stride + kSkew};
}

// Few tiles: every filter is used a few times only, so that making a panel of them and using it at
// once, while it lies in a near cache, beats making them all first.
bool goes_by_panels(const Problem& problem) {
  return problem.tiles() <= 2 * kMostBlockTiles;
}

// The part of a problem that makes one panel of y's channels; its weights and y begin there.
Problem panel_of(const Problem& problem, int64_t panel) {
  Problem part = problem;
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

FilterMemory filter_memory(const Problem& problem, int threads) {
  const bool by_panels = goes_by_panels(problem);
  const int64_t rows =
      by_panels ? round_up(problem.tiles(), kRowStep) : block_tiles(problem.tiles(), threads);
  const Problem part = by_panels ? panel_of(problem, 0) : problem;
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
void filter_by_tiles(const WinogradRun& run, const Problem& problem, const float* x,
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
void filter_by_panels(const WinogradRun& run, const Problem& problem, const float* x,
                      const float* weights, float* y) {
  const FilterMemory memory = filter_memory(problem, run.threads);
  Spectrum spectrum = memory.spectrum;
  spectrum.data = static_cast<float*>(run.workspace);
  parallel_pieces(run.threads, problem.tiles(), kTransformTiles, [&](int64_t first, int64_t end) {
    Block block{.tiles = {first, end - first}, .spectrum = spectrum, .x = x};
    block.spectrum.data = spectrum.at(0, first);
    HWY_DYNAMIC_DISPATCH(transform_block)(problem, block);
  });
  parallel_for(run.threads, problem.panels().panels(), [&](int64_t panel) {
    const Problem part = panel_of(problem, panel);
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
void filter_images(const WinogradRun& run, const Problem& problem, const float* x,
                   const float* weights, float* y) {
  auto filter = goes_by_panels(problem) ? filter_by_panels : filter_by_tiles;
  filter(run, problem, x, weights, y);
}

// Tiles summed between two writes of the sums; how many decides the order of addition.
constexpr int64_t kWeightTiles = 256;
constexpr int64_t kSumRows = 48;  // a piece of work

// Spectra in `workspace`, which may be null.
WeightSpectra weight_spectra(const Problem& problem, float* workspace) {
  const int64_t rows = std::min(kWeightTiles, problem.tiles());
  WeightSpectra spectra{
      .x = spectrum_of(rows, problem.in.channels),
      .grad_y = spectrum_of(rows, problem.out.channels),
      .sums = spectrum_of(round_up(problem.out.channels, kRowStep), problem.in.channels)};
  for (Spectrum* spectrum : {&spectra.x, &spectra.grad_y, &spectra.sums}) {
    spectrum->data = workspace;
    if (workspace != nullptr) workspace += problem.frequencies() * spectrum->frequency_stride;
  }
  return spectra;
}

size_t weight_workspace_floats(const Problem& problem) {
  WeightSpectra spectra = weight_spectra(problem, nullptr);
  return size_t(problem.frequencies() *
                (spectra.x.frequency_stride + spectra.grad_y.frequency_stride +
                 spectra.sums.frequency_stride));
}

// Below this many channels the transforms outweigh what they save.
constexpr int64_t kLeastChannels = 16;

}  // namespace

std::optional<std::string> refuse_winograd(const ConvParams& p) {
  if (p.kernel_height != 3 || p.kernel_width != 3) {
    return fmt::format("a window of {} x {}, only 3 x 3 is served", p.kernel_height,
                       p.kernel_width);
  }
  if (p.groups != 1) return fmt::format("{} groups, only one is served", p.groups);
  if (p.stride_h != 1 || p.stride_w != 1) {
    return fmt::format("stride [{},{}], only [1,1] is served", p.stride_h, p.stride_w);
  }
  if (p.dilation_h != 1 || p.dilation_w != 1) {
    return fmt::format("dilation [{},{}], only [1,1] is served", p.dilation_h, p.dilation_w);
  }
  if (std::max(p.pad_h, p.pad_w) > 2) {
    return fmt::format("padding [{},{}], at most 2 is served", p.pad_h, p.pad_w);
  }
  if (std::min(p.channels, p.out_channels) < kLeastChannels) {
    return fmt::format("{} to {} channels, fewer than {} gain nothing", p.channels, p.out_channels,
                       kLeastChannels);
  }
  for (auto [height, width] : {std::pair(p.height, p.width), {p.out_height, p.out_width}}) {
    int outputs = tile_outputs(height, width);
    if (multiplications(outputs, height, width) >= kTaps * height * width) {
      return fmt::format("{} x {} pixels would be padded to more work than the direct form", height,
                         width);
    }
  }
  return std::nullopt;
}

size_t winograd_workspace_bytes(const ConvParams& conv, ConvPass pass, int threads) {
  Problem problem = problem_of(conv, pass);
  if (pass == ConvPass::Weights) return weight_workspace_floats(problem) * sizeof(float);
  FilterMemory memory = filter_memory(problem, threads);
  return size_t(memory.shared + threads * memory.of_thread) * sizeof(float);
}

void winograd_forward(const WinogradRun& run, const float* x, const float* weights, float* y) {
  filter_images(run, problem_of(run.conv, ConvPass::Forward), x, weights, y);
}

void winograd_data(const WinogradRun& run, const float* grad_y, const float* weights,
                   float* grad_x) {
  filter_images(run, problem_of(run.conv, ConvPass::Data), grad_y, weights, grad_x);
}

void winograd_weights(const WinogradRun& run, const float* x, const float* grad_y,
                      float* grad_weights) {
  const Problem problem = problem_of(run.conv, ConvPass::Weights);
  const WeightSpectra spectra = weight_spectra(problem, static_cast<float*>(run.workspace));
  const int64_t out_rows = round_up(problem.out.channels, kRowStep);
  const int64_t row_pieces = ceil_div(out_rows, kSumRows);
  for (int64_t first = 0; first < problem.tiles(); first += kWeightTiles) {
    const int64_t count = std::min(kWeightTiles, problem.tiles() - first);
    parallel_pieces(run.threads, count, kTransformTiles, [&](int64_t begin, int64_t end) {
      WeightSpectra rows = spectra;
      rows.x.data = spectra.x.at(0, begin);
      rows.grad_y.data = spectra.grad_y.at(0, begin);
      HWY_DYNAMIC_DISPATCH(weight_operands)(problem, {first + begin, end - begin}, x, grad_y, rows);
    });
    parallel_for(run.threads, problem.frequencies() * row_pieces, [&](int64_t piece) {
      int64_t row = piece % row_pieces * kSumRows;
      Range rows{row, std::min(kSumRows, out_rows - row)};
      HWY_DYNAMIC_DISPATCH(sum_weights)
      (spectra, piece / row_pieces, rows, problem.in.channels, count, first > 0);
    });
  }
  parallel_for(run.threads, problem.out.channels, [&](int64_t channel) {
    HWY_DYNAMIC_DISPATCH(write_weights)(problem, spectra.sums, channel, grad_weights);
  });
}

}  // namespace pounce::cpu
#endif  // HWY_ONCE
