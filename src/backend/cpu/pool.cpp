#include <cmath>

#include "backend/cpu/kernels.h"
#include "backend/cpu/parallel.h"
#include "backend/cpu/simd.h"
#include "ir/conv_params.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/pool.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace pounce::cpu {
namespace HWY_NAMESPACE {
namespace {

// Channels whose running results stay in the first-level cache.
constexpr int64_t kBlock = 64;

struct Window {
  int64_t h_first, h_end, w_first, w_end;  // inside the image
  int64_t top, left;                       // of the whole window
};

// Channels [0, count) of one output pixel; x: their place in pixel 0 of the image.
void max_of_window(const PoolParams& p, const Window& window, const float* x, int64_t count,
                   float* y, uint8_t* position) {
  float best[kBlock];
  int32_t place[kBlock];
  bool first = true;
  for (int64_t h = window.h_first; h < window.h_end; ++h) {
    for (int64_t w = window.w_first; w < window.w_end; ++w) {
      const float* pixel = x + (h * p.width + w) * p.channels;
      int32_t at = int32_t((h - window.top) * p.kernel_w + w - window.left);
      if (first) {
        for (int64_t c = 0; c < count; ++c) best[c] = pixel[c], place[c] = at;
        first = false;
        continue;
      }
      POUNCE_VECTORIZE
      for (int64_t c = 0; c < count; ++c) {
        // The first of equals stays; NaN beats every number.
        float value = pixel[c], old = best[c];
        bool take = (value > old) | ((value != value) & (old == old));
        best[c] = take ? value : old;
        place[c] = take ? at : place[c];
      }
    }
  }
  for (int64_t c = 0; c < count; ++c) y[c] = best[c], position[c] = uint8_t(place[c]);
}

// One row of output pixels.
void max_pool_row(const PoolParams& p, int64_t row, const float* x, float* y, uint8_t* position) {
  const float* image = x + row / p.out_height * p.height * p.width * p.channels;
  Window window{};
  window.top = row % p.out_height * p.stride_h - p.pad_h;
  window.h_first = std::max<int64_t>(window.top, 0);
  window.h_end = std::min(window.top + p.kernel_h, p.height);
  for (int64_t q = 0; q < p.out_width; ++q) {
    window.left = q * p.stride_w - p.pad_w;
    window.w_first = std::max<int64_t>(window.left, 0);
    window.w_end = std::min(window.left + p.kernel_w, p.width);
    int64_t out = (row * p.out_width + q) * p.channels;
    for (int64_t c = 0; c < p.channels; c += kBlock) {
      max_of_window(p, window, image + c, std::min(kBlock, p.channels - c), y + out + c,
                    position + out + c);
    }
  }
}

struct Span {
  int64_t first, end;
};

// The windows along one axis that cover `at`.
Span covering(int64_t at, int64_t kernel, int64_t stride, int64_t pad, int64_t windows) {
  int64_t from = at + pad - kernel + 1;
  return {from <= 0 ? 0 : (from + stride - 1) / stride, std::min(windows, (at + pad) / stride + 1)};
}

// One row of input pixels gathers from the windows that chose it, in their order.
void max_pool_bwd_row(const PoolParams& p, int64_t row, const float* grad_y,
                      const uint8_t* position, float* grad_x) {
  int64_t n = row / p.height, h = row % p.height;
  Span rows = covering(h, p.kernel_h, p.stride_h, p.pad_h, p.out_height);
  for (int64_t w = 0; w < p.width; ++w) {
    float* sum = grad_x + (row * p.width + w) * p.channels;
    for (int64_t c = 0; c < p.channels; ++c) sum[c] = 0;
    Span columns = covering(w, p.kernel_w, p.stride_w, p.pad_w, p.out_width);
    for (int64_t oh = rows.first; oh < rows.end; ++oh) {
      for (int64_t ow = columns.first; ow < columns.end; ++ow) {
        int64_t r = h + p.pad_h - oh * p.stride_h, s = w + p.pad_w - ow * p.stride_w;
        int32_t at = int32_t(r * p.kernel_w + s);
        int64_t out = ((n * p.out_height + oh) * p.out_width + ow) * p.channels;
        POUNCE_VECTORIZE
        for (int64_t c = 0; c < p.channels; ++c) {
          float grad = grad_y[out + c];
          sum[c] += int32_t(position[out + c]) == at ? grad : 0.0f;
        }
      }
    }
  }
}

// Channels [0, count) of one image.
void mean_of_pixels(const float* x, int64_t pixels, int64_t channels, int64_t count, float* y) {
  double sum[kBlock] = {};
  for (int64_t i = 0; i < pixels; ++i) {
    const float* pixel = x + i * channels;
    POUNCE_VECTORIZE
    for (int64_t c = 0; c < count; ++c) sum[c] += double(pixel[c]);
  }
  for (int64_t c = 0; c < count; ++c) y[c] = float(sum[c] / double(pixels));
}

void global_avg_pool_image(const float* x, int64_t pixels, int64_t channels, float* y) {
  for (int64_t c = 0; c < channels; c += kBlock) {
    mean_of_pixels(x + c, pixels, channels, std::min(kBlock, channels - c), y + c);
  }
}

void global_avg_pool_bwd_image(const float* grad_y, int64_t pixels, int64_t channels,
                               float* grad_x) {
  double share = 1.0 / double(pixels);
  POUNCE_VECTORIZE
  for (int64_t c = 0; c < channels; ++c) grad_x[c] = float(double(grad_y[c]) * share);
  for (int64_t i = 1; i < pixels; ++i) {
    for (int64_t c = 0; c < channels; ++c) grad_x[i * channels + c] = grad_x[c];
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace pounce::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pounce::cpu {
namespace {

HWY_EXPORT(max_pool_row);
HWY_EXPORT(max_pool_bwd_row);
HWY_EXPORT(global_avg_pool_image);
HWY_EXPORT(global_avg_pool_bwd_image);

HostKernel make_max_pool(const NodeContext& context) {
  PoolParams p = pool_params(context.graph, context.node);
  return [=](const KernelArguments& arguments) {
    parallel_for(arguments.threads, p.batch * p.out_height, [&](int64_t row) {
      HWY_DYNAMIC_DISPATCH(max_pool_row)
      (p, row, arguments.input<float>(0), arguments.output<float>(0), arguments.output<uint8_t>(1));
    });
  };
}

HostKernel make_max_pool_bwd(const NodeContext& context) {
  PoolParams p = pool_params(context.graph, context.node);
  return [=](const KernelArguments& arguments) {
    parallel_for(arguments.threads, p.batch * p.height, [&](int64_t row) {
      HWY_DYNAMIC_DISPATCH(max_pool_bwd_row)
      (p, row, arguments.input<float>(0), arguments.input<uint8_t>(1), arguments.output<float>(0));
    });
  };
}

HostKernel make_global_avg_pool(const NodeContext& context) {
  const Shape& x = context.input(0).shape;
  int64_t batch = x[0], pixels = x[1] * x[2], channels = x[3];
  return [=](const KernelArguments& arguments) {
    parallel_for(arguments.threads, batch, [&](int64_t n) {
      HWY_DYNAMIC_DISPATCH(global_avg_pool_image)
      (arguments.input<float>(0) + n * pixels * channels, pixels, channels,
       arguments.output<float>(0) + n * channels);
    });
  };
}

HostKernel make_global_avg_pool_bwd(const NodeContext& context) {
  const Shape& x = context.output(0).shape;
  int64_t batch = x[0], pixels = x[1] * x[2], channels = x[3];
  return [=](const KernelArguments& arguments) {
    parallel_for(arguments.threads, batch, [&](int64_t n) {
      HWY_DYNAMIC_DISPATCH(global_avg_pool_bwd_image)
      (arguments.input<float>(0) + n * channels, pixels, channels,
       arguments.output<float>(0) + n * pixels * channels);
    });
  };
}

Row simd_row(OpKind op, HostKernel (*make)(const NodeContext&)) {
  return {op, {.name = "simd", .refuse = refuse_other_floats, .make = make}};
}

}  // namespace

std::vector<Row> pool_kernels() {
  return {
      simd_row(OpKind::MaxPool, make_max_pool),
      simd_row(OpKind::MaxPoolBwd, make_max_pool_bwd),
      simd_row(OpKind::GlobalAvgPool, make_global_avg_pool),
      simd_row(OpKind::GlobalAvgPoolBwd, make_global_avg_pool_bwd),
  };
}

}  // namespace pounce::cpu
#endif  // HWY_ONCE
