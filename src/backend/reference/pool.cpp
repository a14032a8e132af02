#include <algorithm>
#include <cmath>

#include "backend/reference/families.h"
#include "ir/conv_params.h"

namespace pounce::reference {
namespace {

// Calls f with every output pixel, its image and the place of its window's corner, which may lie
// in the padding.
template <typename F>
void for_each_window(const PoolParams& p, F f) {
  int64_t out_pixel = 0;
  for (int64_t n = 0; n < p.batch; ++n) {
    for (int64_t out_h = 0; out_h < p.out_height; ++out_h) {
      for (int64_t out_w = 0; out_w < p.out_width; ++out_w, ++out_pixel) {
        f(out_pixel, n, out_h * p.stride_h - p.pad_h, out_w * p.stride_w - p.pad_w);
      }
    }
  }
}

template <typename T>
struct Maximum {
  T value{};
  int64_t position = -1;

  // The first of equals stays; NaN beats every number.
  void offer(T candidate, int64_t at) {
    bool first_nan = std::isnan(candidate) && !std::isnan(value);
    if (position < 0 || candidate > value || first_nan) value = candidate, position = at;
  }
};

template <typename T>
HostKernel make_max_pool(const NodeContext& context) {
  PoolParams p = pool_params(context.graph, context.node);
  return [=](const KernelArguments& arguments) {
    const T* x = arguments.input<T>(0);
    T* y = arguments.output<T>(0);
    uint8_t* position = arguments.output<uint8_t>(1);
    for_each_window(p, [&](int64_t out_pixel, int64_t n, int64_t top, int64_t left) {
      for (int64_t c = 0; c < p.channels; ++c) {
        Maximum<T> best;
        for (int64_t r = 0; r < p.kernel_h; ++r) {
          for (int64_t s = 0; s < p.kernel_w; ++s) {
            int64_t h = top + r, w = left + s;
            if (h < 0 || h >= p.height || w < 0 || w >= p.width) continue;
            best.offer(x[((n * p.height + h) * p.width + w) * p.channels + c], r * p.kernel_w + s);
          }
        }
        y[out_pixel * p.channels + c] = best.value;
        position[out_pixel * p.channels + c] = uint8_t(best.position);
      }
    });
  };
}

template <typename T>
HostKernel make_max_pool_bwd(const NodeContext& context) {
  PoolParams p = pool_params(context.graph, context.node);
  int64_t elements = context.output(0).shape.elements();
  return [=](const KernelArguments& arguments) {
    const T* grad_y = arguments.input<T>(0);
    const uint8_t* position = arguments.input<uint8_t>(1);
    double* sums = static_cast<double*>(arguments.workspace);
    std::fill_n(sums, elements, 0.0);
    for_each_window(p, [&](int64_t out_pixel, int64_t n, int64_t top, int64_t left) {
      for (int64_t c = 0; c < p.channels; ++c) {
        int64_t i = out_pixel * p.channels + c;
        int64_t h = top + position[i] / p.kernel_w, w = left + position[i] % p.kernel_w;
        sums[((n * p.height + h) * p.width + w) * p.channels + c] += double(grad_y[i]);
      }
    });
    T* grad_x = arguments.output<T>(0);
    for (int64_t i = 0; i < elements; ++i) grad_x[i] = T(sums[i]);
  };
}

template <typename T>
HostKernel make_global_avg_pool(const NodeContext& context) {
  const Shape& x_shape = context.input(0).shape;
  int64_t batch = x_shape[0], pixels = x_shape[1] * x_shape[2], channels = x_shape[3];
  return [=](const KernelArguments& arguments) {
    const T* x = arguments.input<T>(0);
    T* y = arguments.output<T>(0);
    for (int64_t n = 0; n < batch; ++n) {
      for (int64_t c = 0; c < channels; ++c) {
        double sum = 0;
        for (int64_t i = 0; i < pixels; ++i) sum += double(x[(n * pixels + i) * channels + c]);
        y[n * channels + c] = T(sum / double(pixels));
      }
    }
  };
}

template <typename T>
HostKernel make_global_avg_pool_bwd(const NodeContext& context) {
  const Shape& x_shape = context.output(0).shape;
  int64_t batch = x_shape[0], pixels = x_shape[1] * x_shape[2], channels = x_shape[3];
  return [=](const KernelArguments& arguments) {
    const T* grad_y = arguments.input<T>(0);
    T* grad_x = arguments.output<T>(0);
    for (int64_t n = 0; n < batch; ++n) {
      for (int64_t i = 0; i < pixels; ++i) {
        for (int64_t c = 0; c < channels; ++c) {
          grad_x[(n * pixels + i) * channels + c] =
              T(double(grad_y[n * channels + c]) / double(pixels));
        }
      }
    }
  };
}

size_t output_doubles(const NodeContext& context) {
  return size_t(context.output(0).shape.elements()) * sizeof(double);
}

}  // namespace

std::vector<Row> pool_kernels() {
  return {
      floating_row<make_max_pool<float>, make_max_pool<double>>(OpKind::MaxPool),
      floating_row<make_max_pool_bwd<float>, make_max_pool_bwd<double>>(OpKind::MaxPoolBwd,
                                                                        output_doubles),
      floating_row<make_global_avg_pool<float>, make_global_avg_pool<double>>(
          OpKind::GlobalAvgPool),
      floating_row<make_global_avg_pool_bwd<float>, make_global_avg_pool_bwd<double>>(
          OpKind::GlobalAvgPoolBwd),
  };
}

}  // namespace pounce::reference
