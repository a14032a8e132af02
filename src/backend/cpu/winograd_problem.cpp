#include "backend/cpu/winograd_problem.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace pounce::cpu {
namespace {

// Rows of an operand that start a multiple of 4 KiB apart would compete for the same lines of the
// first-level cache.
constexpr int64_t kSkew = 16;

// Multiplications of a tile's channel pair, by the side of its result.
constexpr int64_t multiplications(int64_t outputs, int64_t height, int64_t width) {
  return ceil_div(height, outputs) * ceil_div(width, outputs) * (outputs + 2) * (outputs + 2);
}

int tile_outputs(int64_t height, int64_t width) {
  return multiplications(2, height, width) < multiplications(4, height, width) ? 2 : 4;
}

// Below this many channels the transforms outweigh what they save.
constexpr int64_t kLeastChannels = 16;

}  // namespace

WinogradProblem winograd_problem(const ConvParams& p, ConvPass pass) {
  const bool is_data = pass == ConvPass::Data;
  WinogradProblem problem{};
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

Spectrum spectrum_of(int64_t rows, int64_t channels) {
  int64_t stride = round_up(channels, kPanelColumns) + kSkew;
  return {nullptr, stride, rows * stride + kSkew};
}

Spectrum panel_spectrum_of(int64_t rows, int64_t channels) {
  int64_t panel_stride = rows * kPanelColumns + kSkew;
  return {nullptr, kPanelColumns, ceil_div(channels, kPanelColumns) * panel_stride, panel_stride};
}

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
  WinogradProblem problem = winograd_problem(conv, pass);
  if (pass == ConvPass::Weights) return winograd_weight_workspace_bytes(problem, threads);
  return winograd_filter_workspace_bytes(problem, threads);
}

}  // namespace pounce::cpu
