// Weight gradients of convolutions in groups. Depthwise, where every channel is its own group: sums
// in double over pieces of images whose number depends on the batch alone, added in order. Others:
// one product a group, as gemm.h orders it.
#include <fmt/format.h>

#include "backend/cpu/gemm.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/parallel.h"
#include "backend/cpu/simd.h"
#include "ir/conv_params.h"
#include "plan/plan.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/grouped_conv.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef POUNCE_CPU_GROUPED_CONV_ONCE
#define POUNCE_CPU_GROUPED_CONV_ONCE
namespace pounce::cpu {
namespace {

// Channels [channel, channel + channels) of images [first, end).
struct Piece {
  int64_t first, end, channel, channels;
};

constexpr int64_t kChannelBlock = 64;

}  // namespace
}  // namespace pounce::cpu
#endif  // POUNCE_CPU_GROUPED_CONV_ONCE

HWY_BEFORE_NAMESPACE();
namespace pounce::cpu {
namespace HWY_NAMESPACE {
namespace {

// sums[tap * p.channels + channel] over one output row `out_h` of image n and kernel row r.
void add_kernel_row(const ConvParams& p, const Piece& piece, int64_t out_line, const float* x_line,
                    const float* grad_y, double* sums) {
  for (int64_t s = 0; s < p.kernel_width; ++s) {
    double partial[kChannelBlock] = {};
    for (int64_t out_w = 0; out_w < p.out_width; ++out_w) {
      int64_t w = out_w * p.stride_w - p.pad_w + s * p.dilation_w;
      if (w < 0 || w >= p.width) continue;
      const float* x = x_line + w * p.channels + piece.channel;
      const float* grad = grad_y + (out_line * p.out_width + out_w) * p.channels + piece.channel;
      POUNCE_VECTORIZE
      for (int64_t c = 0; c < piece.channels; ++c) partial[c] += double(x[c]) * double(grad[c]);
    }
    for (int64_t c = 0; c < piece.channels; ++c) sums[s * p.channels + c] += partial[c];
  }
}

// sums: taps x channels, at the piece's first channel.
void depthwise_weights(const ConvParams& p, const Piece& piece, const float* x, const float* grad_y,
                       double* sums) {
  for (int64_t tap = 0; tap < p.kernel_height * p.kernel_width; ++tap) {
    for (int64_t c = 0; c < piece.channels; ++c) sums[tap * p.channels + c] = 0;
  }
  for (int64_t n = piece.first; n < piece.end; ++n) {
    for (int64_t out_h = 0; out_h < p.out_height; ++out_h) {
      for (int64_t r = 0; r < p.kernel_height; ++r) {
        int64_t h = out_h * p.stride_h - p.pad_h + r * p.dilation_h;
        if (h < 0 || h >= p.height) continue;
        add_kernel_row(p, piece, n * p.out_height + out_h,
                       x + (n * p.height + h) * p.width * p.channels, grad_y,
                       sums + r * p.kernel_width * p.channels);
      }
    }
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace pounce::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pounce::cpu {
namespace {

HWY_EXPORT(depthwise_weights);

constexpr int64_t kMostPieces = 16;

struct Extents {
  explicit Extents(const ConvParams& p)
      : images((p.batch + kMostPieces - 1) / kMostPieces),
        pieces((p.batch + images - 1) / images),
        blocks((p.channels + kChannelBlock - 1) / kChannelBlock),
        taps(p.kernel_height * p.kernel_width) {}

  int64_t images, pieces, blocks, taps;
};

std::optional<std::string> refuse_depthwise(const NodeContext& context) {
  ConvParams p = conv_params(context.graph, context.node);
  if (p.groups != p.channels || p.out_channels != p.channels) {
    return fmt::format("{} to {} channels in {} groups, only one of each is served", p.channels,
                       p.out_channels, p.groups);
  }
  if (p.batch * p.channels == 0) return "a tensor is empty";
  return refuse_other_floats(context);
}

size_t depthwise_workspace(const NodeContext& context) {
  ConvParams p = conv_params(context.graph, context.node);
  Extents e(p);
  return size_t(e.pieces * e.taps * p.channels) * sizeof(double);
}

HostKernel make_depthwise(const NodeContext& context) {
  ConvParams p = conv_params(context.graph, context.node);
  Extents e(p);
  return [=](const KernelArguments& arguments) {
    double* sums = static_cast<double*>(arguments.workspace);
    parallel_for(arguments.threads, e.pieces * e.blocks, [&](int64_t index) {
      int64_t number = index / e.blocks;
      Piece piece{number * e.images, std::min(p.batch, (number + 1) * e.images),
                  index % e.blocks * kChannelBlock, 0};
      piece.channels = std::min(kChannelBlock, p.channels - piece.channel);
      HWY_DYNAMIC_DISPATCH(depthwise_weights)
      (p, piece, arguments.input<float>(0), arguments.input<float>(1),
       sums + number * e.taps * p.channels + piece.channel);
    });
    float* grad_weights = arguments.output<float>(0);
    for (int64_t c = 0; c < p.channels; ++c) {
      for (int64_t tap = 0; tap < e.taps; ++tap) {
        double sum = 0;
        for (int64_t i = 0; i < e.pieces; ++i) sum += sums[(i * e.taps + tap) * p.channels + c];
        grad_weights[c * e.taps + tap] = float(sum);
      }
    }
  };
}

std::optional<std::string> refuse_grouped(const NodeContext& context) {
  ConvParams p = conv_params(context.graph, context.node);
  if (p.dilation_h != 1 || p.dilation_w != 1) {
    return fmt::format("dilation [{},{}], only [1,1] is served", p.dilation_h, p.dilation_w);
  }
  if (p.batch * p.channels * p.out_channels == 0) return "a tensor is empty";
  return refuse_other_floats(context);
}

// One group by itself.
ConvParams one_group(ConvParams p) {
  p.channels /= p.groups, p.out_channels /= p.groups, p.groups = 1;
  return p;
}

GemmShape group_gemm(const ConvParams& group) {
  return {group.out_channels, group.kernel_height * group.kernel_width * group.channels,
          group.batch * group.out_height * group.out_width, true};
}

// Bytes of gemm's own scratch; behind it lie the channels of one group, side by side.
size_t gemm_bytes(const ConvParams& group, int threads) {
  size_t bytes = gemm_workspace_bytes(group_gemm(group), threads);
  return (bytes + kPlacementAlignment - 1) / kPlacementAlignment * kPlacementAlignment;
}

size_t grouped_workspace(const NodeContext& context) {
  ConvParams group = one_group(conv_params(context.graph, context.node));
  size_t gathered = size_t(group.batch * group.height * group.width * group.channels);
  return gemm_bytes(group, context.target.threads) + gathered * sizeof(float);
}

HostKernel make_grouped(const NodeContext& context) {
  ConvParams p = conv_params(context.graph, context.node);
  ConvParams group = one_group(p);
  int threads = context.target.threads;
  size_t scratch = gemm_bytes(group, threads);
  return [=](const KernelArguments& arguments) {
    float* gathered = reinterpret_cast<float*>(static_cast<char*>(arguments.workspace) + scratch);
    for (int64_t g = 0; g < p.groups; ++g) {
      const float* x = arguments.input<float>(0) + g * group.channels;
      auto gather = [&](int64_t first, int64_t end) {
        for (int64_t i = first; i < end; ++i) {
          std::copy_n(x + i * p.channels, group.channels, gathered + i * group.channels);
        }
      };
      parallel_pieces(threads, p.batch * p.height * p.width, 1024, gather);
      GemmShape shape = group_gemm(group);
      gemm({shape, arguments.workspace, threads},
           MatrixView{arguments.input<float>(1) + g * group.out_channels, 1, p.out_channels},
           PatchView{gathered, group}, arguments.output<float>(0) + g * shape.rows * shape.columns);
    }
  };
}

}  // namespace

std::vector<Row> grouped_conv_kernels() {
  return {
      {OpKind::Conv2dBwdWeights,
       {.name = "depthwise",
        .refuse = refuse_depthwise,
        .workspace_bytes = depthwise_workspace,
        .make = make_depthwise}},
      {OpKind::Conv2dBwdWeights,
       {.name = "grouped_gemm",
        .refuse = refuse_grouped,
        .workspace_bytes = grouped_workspace,
        .make = make_grouped}},
  };
}

}  // namespace pounce::cpu
#endif  // HWY_ONCE
