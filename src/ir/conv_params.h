// The numbers of a convolution or pooling window, read off a node: shared by shape rules and
// backends.
#pragma once

#include "ir/graph.h"

namespace pounce {

// NHWC activations, KRSC weights; channels are split into `groups`.
struct ConvParams {
  int64_t batch, height, width, channels;             // x: N, H, W, C
  int64_t out_channels, kernel_height, kernel_width;  // weights: K, R, S, C / groups
  int64_t out_height, out_width;                      // y: N, P, Q, K
  int64_t stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w, groups;

  double flops() const {
    return 2.0 * double(batch * out_height * out_width) * double(out_channels * kernel_height) *
           double(kernel_width * (channels / groups));
  }
};

// Of conv2d, conv2d_bwd_data and conv2d_bwd_weights alike.
ConvParams conv_params(const Graph& graph, const Node& node);

struct PoolParams {
  int64_t batch, height, width, channels, out_height, out_width;
  int64_t kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w;
};

// Of max_pool, avg_pool and their _bwd.
PoolParams pool_params(const Graph& graph, const Node& node);

// floor((size + 2 pad - dilation (kernel - 1) - 1) / stride) + 1. Throws InvalidArgument, naming
// the sizes, where the window does not fit.
int64_t window_count(int64_t size, int64_t kernel, int64_t stride, int64_t pad, int64_t dilation);

}  // namespace pounce
