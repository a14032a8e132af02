// Windows' means and their gradients, summed in double over the channels of a pixel.
#include "backend/cpu/kernels.h"
#include "backend/cpu/parallel.h"
#include "backend/cpu/simd.h"
#include "ir/conv_params.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/avg_pool.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef POUNCE_CPU_AVG_POOL_ONCE
#define POUNCE_CPU_AVG_POOL_ONCE
namespace pounce::cpu {
namespace {

struct AvgPool {
  PoolParams p;
  bool include_pad;
};

struct Span {
  int64_t first, end;

  int64_t size() const { return end - first; }
};

// Pixels along one axis that window `at` covers inside the image.
inline Span inside(int64_t at, int64_t kernel, int64_t stride, int64_t pad, int64_t size) {
  int64_t start = at * stride - pad;
  return {std::max<int64_t>(start, 0), std::min(start + kernel, size)};
}

// The windows along one axis that cover pixel `at`.
inline Span covering(int64_t at, int64_t kernel, int64_t stride, int64_t pad, int64_t windows) {
  int64_t from = at + pad - kernel + 1;
  return {from <= 0 ? 0 : (from + stride - 1) / stride, std::min(windows, (at + pad) / stride + 1)};
}

inline double divisor_of(const AvgPool& pool, const Span& rows, const Span& columns) {
  return double(pool.include_pad ? pool.p.kernel_h * pool.p.kernel_w
                                 : rows.size() * columns.size());
}

}  // namespace
}  // namespace pounce::cpu
#endif  // POUNCE_CPU_AVG_POOL_ONCE

HWY_BEFORE_NAMESPACE();
namespace pounce::cpu {
namespace HWY_NAMESPACE {
namespace {

// Channels whose sums stay in the first-level cache.
constexpr int64_t kBlock = 64;

// One row of output pixels.
void avg_pool_row(const AvgPool& pool, int64_t row, const float* x, float* y) {
  const PoolParams& p = pool.p;
  const float* image = x + row / p.out_height * p.height * p.width * p.channels;
  Span rows = inside(row % p.out_height, p.kernel_h, p.stride_h, p.pad_h, p.height);
  for (int64_t q = 0; q < p.out_width; ++q) {
    Span columns = inside(q, p.kernel_w, p.stride_w, p.pad_w, p.width);
    double divisor = divisor_of(pool, rows, columns);
    float* out = y + (row * p.out_width + q) * p.channels;
    for (int64_t first = 0; first < p.channels; first += kBlock) {
      int64_t count = std::min(kBlock, p.channels - first);
      double sums[kBlock] = {};
      for (int64_t h = rows.first; h < rows.end; ++h) {
        for (int64_t w = columns.first; w < columns.end; ++w) {
          const float* pixel = image + (h * p.width + w) * p.channels + first;
          POUNCE_VECTORIZE
          for (int64_t c = 0; c < count; ++c) sums[c] += double(pixel[c]);
        }
      }
      for (int64_t c = 0; c < count; ++c) out[first + c] = float(sums[c] / divisor);
    }
  }
}

// One row of input pixels gathers from the windows that cover it, in their order.
void avg_pool_bwd_row(const AvgPool& pool, int64_t row, const float* grad_y, float* grad_x) {
  const PoolParams& p = pool.p;
  int64_t n = row / p.height;
  Span rows = covering(row % p.height, p.kernel_h, p.stride_h, p.pad_h, p.out_height);
  for (int64_t w = 0; w < p.width; ++w) {
    Span columns = covering(w, p.kernel_w, p.stride_w, p.pad_w, p.out_width);
    float* out = grad_x + (row * p.width + w) * p.channels;
    for (int64_t first = 0; first < p.channels; first += kBlock) {
      int64_t count = std::min(kBlock, p.channels - first);
      double sums[kBlock] = {};
      for (int64_t oh = rows.first; oh < rows.end; ++oh) {
        Span height = inside(oh, p.kernel_h, p.stride_h, p.pad_h, p.height);
        for (int64_t ow = columns.first; ow < columns.end; ++ow) {
          Span width = inside(ow, p.kernel_w, p.stride_w, p.pad_w, p.width);
          double share = 1.0 / divisor_of(pool, height, width);
          const float* grad =
              grad_y + ((n * p.out_height + oh) * p.out_width + ow) * p.channels + first;
          POUNCE_VECTORIZE
          for (int64_t c = 0; c < count; ++c) sums[c] += double(grad[c]) * share;
        }
      }
      for (int64_t c = 0; c < count; ++c) out[first + c] = float(sums[c]);
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

HWY_EXPORT(avg_pool_row);
HWY_EXPORT(avg_pool_bwd_row);

AvgPool avg_pool_of(const NodeContext& context) {
  return {pool_params(context.graph, context.node),
          context.node.attributes.integer("count_include_pad") != 0};
}

HostKernel make_avg_pool(const NodeContext& context) {
  AvgPool pool = avg_pool_of(context);
  return [=](const KernelArguments& arguments) {
    parallel_for(arguments.threads, pool.p.batch * pool.p.out_height, [&](int64_t row) {
      HWY_DYNAMIC_DISPATCH(avg_pool_row)
      (pool, row, arguments.input<float>(0), arguments.output<float>(0));
    });
  };
}

HostKernel make_avg_pool_bwd(const NodeContext& context) {
  AvgPool pool = avg_pool_of(context);
  return [=](const KernelArguments& arguments) {
    parallel_for(arguments.threads, pool.p.batch * pool.p.height, [&](int64_t row) {
      HWY_DYNAMIC_DISPATCH(avg_pool_bwd_row)
      (pool, row, arguments.input<float>(0), arguments.output<float>(0));
    });
  };
}

}  // namespace

std::vector<Row> avg_pool_kernels() {
  return {
      {OpKind::AvgPool, {.name = "simd", .refuse = refuse_other_floats, .make = make_avg_pool}},
      {OpKind::AvgPoolBwd,
       {.name = "simd", .refuse = refuse_other_floats, .make = make_avg_pool_bwd}},
  };
}

}  // namespace pounce::cpu
#endif  // HWY_ONCE
