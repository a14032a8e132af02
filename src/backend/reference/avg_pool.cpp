#include <algorithm>

#include "backend/reference/families.h"
#include "ir/conv_params.h"

namespace pounce::reference {
namespace {

struct AvgPool {
  explicit AvgPool(const NodeContext& context)
      : p(pool_params(context.graph, context.node)),
        include_pad(context.node.attributes.integer("count_include_pad") != 0) {}

  // f(output element, input element, divisor of the window) for each pair that meets.
  template <typename F>
  void for_each(F f) const {
    int64_t out = 0;
    for (int64_t n = 0; n < p.batch; ++n) {
      for (int64_t out_h = 0; out_h < p.out_height; ++out_h) {
        for (int64_t out_w = 0; out_w < p.out_width; ++out_w, ++out) {
          int64_t top = out_h * p.stride_h - p.pad_h, left = out_w * p.stride_w - p.pad_w;
          int64_t h_first = std::max<int64_t>(top, 0), h_end = std::min(top + p.kernel_h, p.height);
          int64_t w_first = std::max<int64_t>(left, 0),
                  w_end = std::min(left + p.kernel_w, p.width);
          int64_t inside = (h_end - h_first) * (w_end - w_first);
          double divisor = double(include_pad ? p.kernel_h * p.kernel_w : inside);
          for (int64_t h = h_first; h < h_end; ++h) {
            for (int64_t w = w_first; w < w_end; ++w) {
              int64_t in = (n * p.height + h) * p.width + w;
              for (int64_t c = 0; c < p.channels; ++c) {
                f(out * p.channels + c, in * p.channels + c, divisor);
              }
            }
          }
        }
      }
    }
  }

  PoolParams p;
  bool include_pad;
};

// Runs `accumulate(sums)` over zeroed doubles, one an element of output 0, and rounds them.
template <typename T, typename F>
void in_double(const KernelArguments& arguments, int64_t elements, F accumulate) {
  double* sums = static_cast<double*>(arguments.workspace);
  std::fill_n(sums, elements, 0.0);
  accumulate(sums);
  std::transform(sums, sums + elements, arguments.output<T>(0), [](double sum) { return T(sum); });
}

template <typename T>
HostKernel make_avg_pool(const NodeContext& context) {
  AvgPool pool(context);
  int64_t elements = context.output(0).shape.elements();
  return [=](const KernelArguments& arguments) {
    const T* x = arguments.input<T>(0);
    in_double<T>(arguments, elements, [&](double* sums) {
      pool.for_each(
          [&](int64_t out, int64_t in, double divisor) { sums[out] += double(x[in]) / divisor; });
    });
  };
}

template <typename T>
HostKernel make_avg_pool_bwd(const NodeContext& context) {
  AvgPool pool(context);
  int64_t elements = context.output(0).shape.elements();
  return [=](const KernelArguments& arguments) {
    const T* grad_y = arguments.input<T>(0);
    in_double<T>(arguments, elements, [&](double* sums) {
      pool.for_each([&](int64_t out, int64_t in, double divisor) {
        sums[in] += double(grad_y[out]) / divisor;
      });
    });
  };
}

size_t output_doubles(const NodeContext& context) {
  return size_t(context.output(0).shape.elements()) * sizeof(double);
}

}  // namespace

std::vector<Row> avg_pool_kernels() {
  return {
      floating_row<make_avg_pool<float>, make_avg_pool<double>>(OpKind::AvgPool, output_doubles),
      floating_row<make_avg_pool_bwd<float>, make_avg_pool_bwd<double>>(OpKind::AvgPoolBwd,
                                                                        output_doubles),
  };
}

}  // namespace pounce::reference
