// How the passes of winograd.h see a convolution: images cut into tiles, and matrices for every
// frequency.
#pragma once

#include <cstdint>

#include "backend/cpu/panel.h"
#include "backend/cpu/winograd.h"

namespace pounce::cpu {

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

// For every frequency a matrix whose rows are tiles and whose columns are channels, all of a row or
// kPanelColumns of every row next to each other.
struct Spectrum {
  float* data;
  int64_t stride, frequency_stride;
  int64_t panel_stride = kPanelColumns;

  float* at(int64_t frequency, int64_t row, int64_t channel) const {
    return data + frequency * frequency_stride + row * stride +
           channel / kPanelColumns * panel_stride + channel % kPanelColumns;
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

// Any pass: the data gradient is a forward pass from grad_y with rotated filters, and the weight
// gradient has the tiles of the forward pass.
struct WinogradProblem {
  int64_t images;
  int outputs;  // side of a tile's result: 4 or 2
  TiledImages in, out;
  FilterView filter;

  int64_t frequencies() const { return (outputs + 2) * (outputs + 2); }
  int64_t tiles() const { return images * in.tiles_h * in.tiles_w; }
  FilterPanels panels() const { return {filter.depth, filter.columns}; }
};

WinogradProblem winograd_problem(const ConvParams& conv, ConvPass pass);

// By whole rows, without memory.
Spectrum spectrum_of(int64_t rows, int64_t channels);
// By panels.
Spectrum panel_spectrum_of(int64_t rows, int64_t channels);

// A piece of work where tiles are transformed alone.
constexpr int64_t kTransformTiles = 16;

// What winograd_workspace_bytes is made of.
size_t winograd_filter_workspace_bytes(const WinogradProblem& problem, int threads);
size_t winograd_weight_workspace_bytes(const WinogradProblem& problem, int threads);

}  // namespace pounce::cpu
