#include <algorithm>
#include <cmath>

#include "backend/reference/families.h"
#include "ir/layout_params.h"

namespace pounce::reference {
namespace {

// x in memory order, each element with the place in y that it is reduced to.
struct Reduction {
  Reduction(const TensorType& x, const TensorType& y, const Attributes& attributes)
      : walk(reduce_walk(x.shape, attributes.integers("axes"))),
        elements(x.shape.elements()),
        results(y.shape.elements()),
        count(reduced_elements(x.shape, attributes.integers("axes"))) {}

  // f(index in x, index in y)
  template <typename F>
  void for_each(F f) const {
    for (int64_t i = 0; i < elements;) {
      int64_t start = walk.row_offsets(i / walk.inner()).a;
      for (int64_t j = 0; j < walk.inner(); ++j, ++i) f(i, start + j * walk.inner_a());
    }
  }

  StridedWalk walk;
  int64_t elements, results, count;
};

template <typename T>
HostKernel make_sum(const NodeContext& context) {
  Reduction reduction(context.input(0), context.output(0), context.node.attributes);
  double divisor = context.node.op == OpKind::ReduceMean ? double(reduction.count) : 1.0;
  return [=](const KernelArguments& arguments) {
    const T* x = arguments.input<T>(0);
    double* sums = static_cast<double*>(arguments.workspace);
    std::fill_n(sums, reduction.results, 0.0);
    reduction.for_each([&](int64_t i, int64_t to) { sums[to] += double(x[i]); });
    for (int64_t i = 0; i < reduction.results; ++i) {
      arguments.output<T>(0)[i] = T(sums[i] / divisor);
    }
  };
}

template <typename T>
HostKernel make_max(const NodeContext& context) {
  Reduction reduction(context.input(0), context.output(0), context.node.attributes);
  return [=](const KernelArguments& arguments) {
    const T* x = arguments.input<T>(0);
    T* y = arguments.output<T>(0);
    std::fill_n(y, reduction.results, -std::numeric_limits<T>::infinity());
    reduction.for_each([&](int64_t i, int64_t to) {
      if (x[i] > y[to] || std::isnan(x[i])) y[to] = x[i];
    });
  };
}

template <typename T>
HostKernel make_max_bwd(const NodeContext& context) {
  Reduction reduction(context.input(1), context.input(0), context.node.attributes);
  return [=](const KernelArguments& arguments) {
    const T* grad_y = arguments.input<T>(0);
    const T* x = arguments.input<T>(1);
    const T* y = arguments.input<T>(2);
    double* shares = static_cast<double*>(arguments.workspace);
    std::fill_n(shares, reduction.results, 0.0);
    reduction.for_each([&](int64_t i, int64_t from) { shares[from] += x[i] == y[from]; });
    reduction.for_each([&](int64_t i, int64_t from) {
      arguments.output<T>(0)[i] = x[i] == y[from] ? T(double(grad_y[from]) / shares[from]) : T(0);
    });
  };
}

size_t result_doubles(const NodeContext& context) {
  const TensorType& y =
      context.node.op == OpKind::ReduceMaxBwd ? context.input(0) : context.output(0);
  return size_t(y.shape.elements()) * sizeof(double);
}

}  // namespace

std::vector<Row> reduce_kernels() {
  return {
      floating_row<make_sum<float>, make_sum<double>>(OpKind::ReduceSum, result_doubles),
      floating_row<make_sum<float>, make_sum<double>>(OpKind::ReduceMean, result_doubles),
      floating_row<make_max<float>, make_max<double>>(OpKind::ReduceMax),
      floating_row<make_max_bwd<float>, make_max_bwd<double>>(OpKind::ReduceMaxBwd, result_doubles),
  };
}

}  // namespace pounce::reference
