// Reductions over neighbouring axes: x is seen as [outer, reduced, inner] and every element of y is
// summed in the order of x, so neither threads nor the samples around it matter.
#include "backend/cpu/kernels.h"
#include "backend/cpu/parallel.h"
#include "backend/cpu/simd.h"
#include "ir/layout_params.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/reduce.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "backend/cpu/row_sum-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pounce::cpu {
namespace HWY_NAMESPACE {
namespace {

// Columns whose sums stay in the first-level cache.
constexpr int64_t kBlock = 64;

// y[i] = sum of row i / divisor.
void sum_each_row(const float* x, int64_t width, int64_t rows, double divisor, float* y) {
  for (int64_t row = 0; row < rows; ++row) {
    const float* from = x + row * width;
    double sum = row_sum(
        width, [&](int64_t i) __attribute__((always_inline)) { return double(from[i]); });
    y[row] = float(sum / divisor);
  }
}

// Columns [0, count) of a matrix of `stride` columns.
void sum_columns(const float* x, int64_t rows, int64_t stride, int64_t count, double divisor,
                 float* y) {
  double sums[kBlock] = {};
  for (int64_t row = 0; row < rows; ++row) {
    const float* from = x + row * stride;
    POUNCE_VECTORIZE
    for (int64_t c = 0; c < count; ++c) sums[c] += double(from[c]);
  }
  for (int64_t c = 0; c < count; ++c) y[c] = float(sums[c] / divisor);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace pounce::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pounce::cpu {
namespace {

HWY_EXPORT(sum_each_row);
HWY_EXPORT(sum_columns);

constexpr int64_t kColumnBlock = 64;  // as above

bool are_neighbours(const std::vector<int64_t>& axes) {
  for (size_t i = 1; i < axes.size(); ++i) {
    if (axes[i] != axes[i - 1] + 1) return false;
  }
  return true;
}

std::optional<std::string> refuse_reduction(const NodeContext& context) {
  if (!are_neighbours(context.node.attributes.integers("axes"))) return "its axes lie apart";
  if (context.input(0).shape.elements() == 0) return "a tensor is empty";
  return refuse_other_floats(context);
}

struct Reduction {
  explicit Reduction(const NodeContext& context) {
    const Shape& x = context.input(0).shape;
    const std::vector<int64_t>& axes = context.node.attributes.integers("axes");
    reduced = reduced_elements(x, axes);
    if (axes.empty()) {
      inner = x.elements();
      return;
    }
    for (int i = 0; i < x.rank(); ++i) {
      if (i < axes.front()) outer *= x[i];
      if (i > axes.back()) inner *= x[i];
    }
  }

  int64_t outer = 1, reduced = 1, inner = 1;
};

HostKernel make_sum(const NodeContext& context) {
  Reduction r(context);
  double divisor = context.node.op == OpKind::ReduceMean ? double(r.reduced) : 1.0;
  return [=](const KernelArguments& arguments) {
    const float* x = arguments.input<float>(0);
    float* y = arguments.output<float>(0);
    if (r.inner == 1) {
      int64_t grain = std::max<int64_t>(kElementwiseGrain / r.reduced, 1);
      parallel_pieces(arguments.threads, r.outer, grain, [&](int64_t first, int64_t end) {
        HWY_DYNAMIC_DISPATCH(sum_each_row)
        (x + first * r.reduced, r.reduced, end - first, divisor, y + first);
      });
      return;
    }
    int64_t blocks = (r.inner + kColumnBlock - 1) / kColumnBlock;
    parallel_for(arguments.threads, r.outer * blocks, [&](int64_t index) {
      int64_t outer = index / blocks, c = index % blocks * kColumnBlock;
      HWY_DYNAMIC_DISPATCH(sum_columns)
      (x + outer * r.reduced * r.inner + c, r.reduced, r.inner, std::min(kColumnBlock, r.inner - c),
       divisor, y + outer * r.inner + c);
    });
  };
}

}  // namespace

std::vector<Row> reduce_kernels() {
  const Implementation simd = {.name = "simd", .refuse = refuse_reduction, .make = make_sum};
  return {{OpKind::ReduceSum, simd}, {OpKind::ReduceMean, simd}};
}

}  // namespace pounce::cpu
#endif  // HWY_ONCE
