// Direct convolution: one walk over (output pixel, input pixel, kernel tap) serves all three
// passes. Each accumulates its whole output in double before rounding once.
#include <algorithm>

#include "backend/reference/families.h"
#include "ir/conv_params.h"

namespace pounce::reference {
namespace {

// Calls f for every output pixel, the input pixels its window covers and the taps that join them;
// pixels count through the batch, taps through the kernel, both in memory order.
template <typename F>
void for_each_tap(const ConvParams& p, F f) {
  int64_t out_pixel = 0;
  for (int64_t n = 0; n < p.batch; ++n) {
    for (int64_t out_h = 0; out_h < p.out_height; ++out_h) {
      for (int64_t out_w = 0; out_w < p.out_width; ++out_w, ++out_pixel) {
        for (int64_t r = 0; r < p.kernel_height; ++r) {
          int64_t h = out_h * p.stride_h - p.pad_h + r * p.dilation_h;
          if (h < 0 || h >= p.height) continue;
          for (int64_t s = 0; s < p.kernel_width; ++s) {
            int64_t w = out_w * p.stride_w - p.pad_w + s * p.dilation_w;
            if (w < 0 || w >= p.width) continue;
            f(out_pixel, (n * p.height + h) * p.width + w, r * p.kernel_width + s);
          }
        }
      }
    }
  }
}

// Where output channel k of a pixel or tap meets the input channels of its group.
struct ChannelIndex {
  explicit ChannelIndex(const ConvParams& p)
      : channels(p.channels),
        out_channels(p.out_channels),
        group_channels(p.channels / p.groups),
        group_out_channels(p.out_channels / p.groups),
        taps(p.kernel_height * p.kernel_width) {}

  int64_t y(int64_t out_pixel, int64_t k) const { return out_pixel * out_channels + k; }
  int64_t x(int64_t in_pixel, int64_t k) const {
    return in_pixel * channels + k / group_out_channels * group_channels;
  }
  int64_t weights(int64_t tap, int64_t k) const { return (k * taps + tap) * group_channels; }

  int64_t channels, out_channels, group_channels, group_out_channels, taps;
};

// Runs `accumulate(sums)` over zeroed doubles, one an element of output 0, and rounds them.
template <typename T, typename F>
void in_double(const KernelArguments& arguments, int64_t elements, F accumulate) {
  double* sums = static_cast<double*>(arguments.workspace);
  std::fill_n(sums, elements, 0.0);
  accumulate(sums);
  std::transform(sums, sums + elements, arguments.output<T>(0), [](double sum) { return T(sum); });
}

// Four sums in turn, so that an addition need not wait for the one before it.
template <typename T>
double dot(const T* a, const T* b, int64_t count) {
  double sums[4] = {};
  int64_t i = 0;
  for (; i + 4 <= count; i += 4) {
    for (int64_t j = 0; j < 4; ++j) sums[j] += double(a[i + j]) * double(b[i + j]);
  }
  for (; i < count; ++i) sums[0] += double(a[i]) * double(b[i]);
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

size_t output_doubles(const NodeContext& context) {
  return size_t(context.output(0).shape.elements()) * sizeof(double);
}

template <typename T>
HostKernel make_conv2d(const NodeContext& context) {
  ConvParams p = conv_params(context.graph, context.node);
  ChannelIndex at(p);
  int64_t elements = context.output(0).shape.elements();
  return [=](const KernelArguments& arguments) {
    const T* x = arguments.input<T>(0);
    const T* weights = arguments.input<T>(1);
    in_double<T>(arguments, elements, [&](double* sums) {
      for_each_tap(p, [&](int64_t out_pixel, int64_t in_pixel, int64_t tap) {
        for (int64_t k = 0; k < at.out_channels; ++k) {
          const T* x_row = x + at.x(in_pixel, k);
          const T* weights_row = weights + at.weights(tap, k);
          sums[at.y(out_pixel, k)] += dot(x_row, weights_row, at.group_channels);
        }
      });
    });
  };
}

template <typename T>
HostKernel make_bwd_data(const NodeContext& context) {
  ConvParams p = conv_params(context.graph, context.node);
  ChannelIndex at(p);
  int64_t elements = context.output(0).shape.elements();
  return [=](const KernelArguments& arguments) {
    const T* grad_y = arguments.input<T>(0);
    const T* weights = arguments.input<T>(1);
    in_double<T>(arguments, elements, [&](double* sums) {
      for_each_tap(p, [&](int64_t out_pixel, int64_t in_pixel, int64_t tap) {
        for (int64_t k = 0; k < at.out_channels; ++k) {
          double grad = double(grad_y[at.y(out_pixel, k)]);
          const T* weights_row = weights + at.weights(tap, k);
          double* sums_row = sums + at.x(in_pixel, k);
          for (int64_t c = 0; c < at.group_channels; ++c) {
            sums_row[c] += grad * double(weights_row[c]);
          }
        }
      });
    });
  };
}

template <typename T>
HostKernel make_bwd_weights(const NodeContext& context) {
  ConvParams p = conv_params(context.graph, context.node);
  ChannelIndex at(p);
  int64_t elements = context.output(0).shape.elements();
  return [=](const KernelArguments& arguments) {
    const T* x = arguments.input<T>(0);
    const T* grad_y = arguments.input<T>(1);
    in_double<T>(arguments, elements, [&](double* sums) {
      for_each_tap(p, [&](int64_t out_pixel, int64_t in_pixel, int64_t tap) {
        for (int64_t k = 0; k < at.out_channels; ++k) {
          double grad = double(grad_y[at.y(out_pixel, k)]);
          const T* x_row = x + at.x(in_pixel, k);
          double* sums_row = sums + at.weights(tap, k);
          for (int64_t c = 0; c < at.group_channels; ++c) sums_row[c] += grad * double(x_row[c]);
        }
      });
    });
  };
}

}  // namespace

std::vector<Row> conv_kernels() {
  return {
      floating_row<make_conv2d<float>, make_conv2d<double>>(OpKind::Conv2d, output_doubles),
      floating_row<make_bwd_data<float>, make_bwd_data<double>>(OpKind::Conv2dBwdData,
                                                                output_doubles),
      floating_row<make_bwd_weights<float>, make_bwd_weights<double>>(OpKind::Conv2dBwdWeights,
                                                                      output_doubles),
  };
}

}  // namespace pounce::reference
