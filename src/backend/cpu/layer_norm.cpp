// Layer normalisation: rows by themselves; the gradients of gamma and beta are summed over pieces
// of rows whose number depends on the shape, and the pieces added in order.
#include <cmath>

#include "backend/cpu/kernels.h"
#include "backend/cpu/parallel.h"
#include "backend/cpu/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/layer_norm.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "backend/cpu/row_sum-inl.h"

#ifndef POUNCE_CPU_LAYER_NORM_ONCE
#define POUNCE_CPU_LAYER_NORM_ONCE
namespace pounce::cpu {
namespace {

struct RowStatistics {
  float mean, inv_std;
};

struct RowGradient {
  const float *grad_y, *x, *gamma;
  RowStatistics of;
};

}  // namespace
}  // namespace pounce::cpu
#endif  // POUNCE_CPU_LAYER_NORM_ONCE

HWY_BEFORE_NAMESPACE();
namespace pounce::cpu {
namespace HWY_NAMESPACE {
namespace {

RowStatistics normalise_row(const float* x, int64_t width, double eps, float* y) {
  double count = double(width);
  double mean = row_sum(
                    width, [&](int64_t i) __attribute__((always_inline)) { return double(x[i]); }) /
                count;
  double variance =
      row_sum(
          width, [&](int64_t i) __attribute__((
                     always_inline)) { return (double(x[i]) - mean) * (double(x[i]) - mean); }) /
      count;
  RowStatistics of{float(mean), float(1.0 / std::sqrt(variance + eps))};
  // The mean in double is a float and a rest: no digits are lost where it is far from 0.
  float rest = float(mean - double(of.mean));
  POUNCE_VECTORIZE
  for (int64_t i = 0; i < width; ++i) y[i] = ((x[i] - of.mean) - rest) * of.inv_std;
  return of;
}

void scale_row(const float* gamma, const float* beta, int64_t width, float* y) {
  POUNCE_VECTORIZE
  for (int64_t i = 0; i < width; ++i) y[i] = y[i] * gamma[i] + beta[i];
}

// Adds to the sums behind the gradients of gamma and beta.
void add_row(const RowGradient& row, int64_t width, double* grad_gamma, double* grad_beta) {
  POUNCE_VECTORIZE
  for (int64_t i = 0; i < width; ++i) {
    float normal = (row.x[i] - row.of.mean) * row.of.inv_std;
    grad_gamma[i] += double(row.grad_y[i]) * double(normal);
    grad_beta[i] += double(row.grad_y[i]);
  }
}

// grad_x may lie over grad_y.
void gradient_row(const RowGradient& row, int64_t width, float* grad_x) {
  double sum = row_sum(
      width, [&](int64_t i)
                 __attribute__((always_inline)) { return double(row.grad_y[i] * row.gamma[i]); });
  double product = row_sum(
      width, [&](int64_t i) __attribute__((always_inline)) {
        return double(row.grad_y[i] * row.gamma[i]) * double(row.x[i] - row.of.mean);
      });
  // Through y directly, through the mean and through the variance.
  float inv_std = row.of.inv_std, mean = row.of.mean;
  float offset = float(sum / double(width));
  float slope = float(product / double(width) * double(inv_std) * double(inv_std));
  const float *grad_y = row.grad_y, *x = row.x, *gamma = row.gamma;
  POUNCE_VECTORIZE
  for (int64_t i = 0; i < width; ++i) {
    grad_x[i] = inv_std * ((grad_y[i] * gamma[i] - offset) - (x[i] - mean) * slope);
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace pounce::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pounce::cpu {
namespace {

HWY_EXPORT(normalise_row);
HWY_EXPORT(scale_row);
HWY_EXPORT(add_row);
HWY_EXPORT(gradient_row);

struct Extents {
  explicit Extents(const TensorType& x)
      : width(channels_of(x)),
        rows(x.shape.elements() / width),
        grain(std::max<int64_t>(kElementwiseGrain / width, 1)),
        sum_grain(std::max((rows + kMostPieces - 1) / kMostPieces, grain)),
        sum_pieces((rows + sum_grain - 1) / sum_grain) {}

  static constexpr int64_t kMostPieces = 64;
  int64_t width, rows, grain, sum_grain, sum_pieces;
};

HostKernel make_layer_norm(const NodeContext& context) {
  Extents e(context.input(0));
  double eps = context.node.attributes.number("eps");
  return [=](const KernelArguments& arguments) {
    parallel_pieces(arguments.threads, e.rows, e.grain, [&](int64_t first, int64_t end) {
      for (int64_t row = first; row < end; ++row) {
        float* y = arguments.output<float>(0) + row * e.width;
        RowStatistics of = HWY_DYNAMIC_DISPATCH(normalise_row)(
            arguments.input<float>(0) + row * e.width, e.width, eps, y);
        HWY_DYNAMIC_DISPATCH(scale_row)
        (arguments.input<float>(1), arguments.input<float>(2), e.width, y);
        arguments.output<float>(1)[row] = of.mean;
        arguments.output<float>(2)[row] = of.inv_std;
      }
    });
  };
}

size_t sums_workspace(const NodeContext& context) {
  Extents e(context.input(1));
  return size_t(2 * e.width * e.sum_pieces) * sizeof(double);
}

HostKernel make_layer_norm_bwd(const NodeContext& context) {
  Extents e(context.input(1));
  return [=](const KernelArguments& arguments) {
    double* all_sums = static_cast<double*>(arguments.workspace);
    parallel_pieces(arguments.threads, e.rows, e.sum_grain, [&](int64_t first, int64_t end) {
      double* sums = all_sums + first / e.sum_grain * 2 * e.width;
      std::fill_n(sums, 2 * e.width, 0.0);
      for (int64_t row = first; row < end; ++row) {
        RowGradient gradient{arguments.input<float>(0) + row * e.width,
                             arguments.input<float>(1) + row * e.width,
                             arguments.input<float>(2),
                             {arguments.input<float>(3)[row], arguments.input<float>(4)[row]}};
        HWY_DYNAMIC_DISPATCH(add_row)(gradient, e.width, sums, sums + e.width);
        HWY_DYNAMIC_DISPATCH(gradient_row)
        (gradient, e.width, arguments.output<float>(0) + row * e.width);
      }
    });
    parallel_pieces(arguments.threads, e.width, 64, [&](int64_t first, int64_t end) {
      for (int64_t c = first; c < end; ++c) {
        double gamma = 0, beta = 0;
        for (int64_t piece = 0; piece < e.sum_pieces; ++piece) {
          gamma += all_sums[2 * piece * e.width + c];
          beta += all_sums[(2 * piece + 1) * e.width + c];
        }
        arguments.output<float>(1)[c] = float(gamma);
        arguments.output<float>(2)[c] = float(beta);
      }
    });
  };
}

}  // namespace

std::vector<Row> layer_norm_kernels() {
  return {
      {OpKind::LayerNorm, {.name = "simd", .refuse = refuse_other_floats, .make = make_layer_norm}},
      {OpKind::LayerNormBwd,
       {.name = "simd",
        .refuse = refuse_other_floats,
        .workspace_bytes = sums_workspace,
        .make = make_layer_norm_bwd}},
  };
}

}  // namespace pounce::cpu
#endif  // HWY_ONCE
