// Softmax and its logarithm over rows. A row's result depends on nothing but the row.
#include <cmath>

#include "backend/cpu/kernels.h"
#include "backend/cpu/parallel.h"
#include "backend/cpu/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/softmax.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "backend/cpu/math-inl.h"
#include "backend/cpu/row_sum-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pounce::cpu {
namespace HWY_NAMESPACE {
namespace {

float largest_of(const float* x, int64_t width) {
  float lanes[kSumLanes];
  for (float& lane : lanes) lane = x[0];
  int64_t i = 0;
  for (; i + kSumLanes <= width; i += kSumLanes) {
    for (int64_t lane = 0; lane < kSumLanes; ++lane) {
      lanes[lane] = x[i + lane] > lanes[lane] ? x[i + lane] : lanes[lane];
    }
  }
  for (; i < width; ++i) lanes[0] = x[i] > lanes[0] ? x[i] : lanes[0];
  float largest = lanes[0];
  for (float lane : lanes) largest = lane > largest ? lane : largest;
  return largest;
}

void softmax_row(const float* x, int64_t width, float* y) {
  float largest = largest_of(x, width);
  POUNCE_VECTORIZE
  for (int64_t i = 0; i < width; ++i) y[i] = exp(x[i] - largest);
  double sum = row_sum(
      width, [&](int64_t i) __attribute__((always_inline)) { return double(y[i]); });
  float share = float(1.0 / sum);
  POUNCE_VECTORIZE
  for (int64_t i = 0; i < width; ++i) y[i] *= share;
}

void log_softmax_row(const float* x, int64_t width, float* y) {
  float largest = largest_of(x, width);
  double sum = row_sum(
      width, [&](int64_t i) __attribute__((always_inline)) { return double(exp(x[i] - largest)); });
  float log_sum = float(std::log(sum));
  POUNCE_VECTORIZE
  for (int64_t i = 0; i < width; ++i) y[i] = (x[i] - largest) - log_sum;
}

void softmax_bwd_row(const float* grad_y, const float* y, int64_t width, float* grad_x) {
  double sum = row_sum(
      width, [&](int64_t i)
                 __attribute__((always_inline)) { return double(grad_y[i]) * double(y[i]); });
  float mean = float(sum);
  POUNCE_VECTORIZE
  for (int64_t i = 0; i < width; ++i) grad_x[i] = y[i] * (grad_y[i] - mean);
}

void log_softmax_bwd_row(const float* grad_y, const float* y, int64_t width, float* grad_x) {
  double sum = row_sum(
      width, [&](int64_t i) __attribute__((always_inline)) { return double(grad_y[i]); });
  float total = float(sum);
  POUNCE_VECTORIZE
  for (int64_t i = 0; i < width; ++i) grad_x[i] = grad_y[i] - exp(y[i]) * total;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace pounce::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pounce::cpu {
namespace {

HWY_EXPORT(softmax_row);
HWY_EXPORT(log_softmax_row);
HWY_EXPORT(softmax_bwd_row);
HWY_EXPORT(log_softmax_bwd_row);

// f(offset of a row)
template <typename F>
void for_rows(const KernelArguments& arguments, int64_t elements, int64_t width, const F& f) {
  int64_t grain = std::max<int64_t>(kElementwiseGrain / width, 1);
  parallel_pieces(arguments.threads, elements / width, grain, [&](int64_t first, int64_t end) {
    for (int64_t row = first; row < end; ++row) f(row * width);
  });
}

HostKernel make_softmax(const NodeContext& context) {
  int64_t elements = context.input(0).shape.elements(), width = channels_of(context.input(0));
  bool is_log = context.node.op == OpKind::LogSoftmax;
  return [=](const KernelArguments& arguments) {
    for_rows(arguments, elements, width, [&](int64_t at) {
      const float* x = arguments.input<float>(0) + at;
      float* y = arguments.output<float>(0) + at;
      if (is_log) return HWY_DYNAMIC_DISPATCH(log_softmax_row)(x, width, y);
      HWY_DYNAMIC_DISPATCH(softmax_row)(x, width, y);
    });
  };
}

HostKernel make_softmax_bwd(const NodeContext& context) {
  int64_t elements = context.input(0).shape.elements(), width = channels_of(context.input(0));
  bool is_log = context.node.op == OpKind::LogSoftmaxBwd;
  return [=](const KernelArguments& arguments) {
    for_rows(arguments, elements, width, [&](int64_t at) {
      const float* grad_y = arguments.input<float>(0) + at;
      const float* y = arguments.input<float>(1) + at;
      float* grad_x = arguments.output<float>(0) + at;
      if (is_log) return HWY_DYNAMIC_DISPATCH(log_softmax_bwd_row)(grad_y, y, width, grad_x);
      HWY_DYNAMIC_DISPATCH(softmax_bwd_row)(grad_y, y, width, grad_x);
    });
  };
}

}  // namespace

std::vector<Row> softmax_kernels() {
  auto row = [](OpKind op, HostKernel (*make)(const NodeContext&)) {
    return Row{op, {.name = "simd", .refuse = refuse_other_floats, .make = make}};
  };
  return {
      row(OpKind::Softmax, make_softmax),
      row(OpKind::SoftmaxBwd, make_softmax_bwd),
      row(OpKind::LogSoftmax, make_softmax),
      row(OpKind::LogSoftmaxBwd, make_softmax_bwd),
  };
}

}  // namespace pounce::cpu
#endif  // HWY_ONCE
