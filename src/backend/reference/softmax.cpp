// Over rows; an output may lie over an input, so each element is read before it is written.
#include <algorithm>
#include <cmath>

#include "backend/reference/families.h"

namespace pounce::reference {
namespace {

struct Rows {
  explicit Rows(const TensorType& x) : width(channels_of(x)), elements(x.shape.elements()) {}

  int64_t width, elements;
};

template <typename T>
HostKernel make_softmax(const NodeContext& context) {
  Rows rows(context.input(0));
  bool is_log = context.node.op == OpKind::LogSoftmax;
  return [=](const KernelArguments& arguments) {
    for (int64_t at = 0; at < rows.elements; at += rows.width) {
      const T* x = arguments.input<T>(0) + at;
      T* y = arguments.output<T>(0) + at;
      // Against overflow.
      double largest = double(*std::max_element(x, x + rows.width));
      double sum = 0;
      for (int64_t i = 0; i < rows.width; ++i) sum += std::exp(double(x[i]) - largest);
      for (int64_t i = 0; i < rows.width; ++i) {
        double below = double(x[i]) - largest;
        y[i] = T(is_log ? below - std::log(sum) : std::exp(below) / sum);
      }
    }
  };
}

// grad_x = y (grad_y - sum of grad_y y) for softmax, grad_y - exp(y) sum of grad_y for its
// logarithm.
template <typename T>
HostKernel make_softmax_bwd(const NodeContext& context) {
  Rows rows(context.input(0));
  bool is_log = context.node.op == OpKind::LogSoftmaxBwd;
  return [=](const KernelArguments& arguments) {
    for (int64_t at = 0; at < rows.elements; at += rows.width) {
      const T* grad_y = arguments.input<T>(0) + at;
      const T* y = arguments.input<T>(1) + at;
      T* grad_x = arguments.output<T>(0) + at;
      double sum = 0;
      for (int64_t i = 0; i < rows.width; ++i) {
        sum += double(grad_y[i]) * (is_log ? 1.0 : double(y[i]));
      }
      for (int64_t i = 0; i < rows.width; ++i) {
        double grad = double(grad_y[i]), value = double(y[i]);
        grad_x[i] = T(is_log ? grad - std::exp(value) * sum : value * (grad - sum));
      }
    }
  };
}

}  // namespace

std::vector<Row> softmax_kernels() {
  return {
      floating_row<make_softmax<float>, make_softmax<double>>(OpKind::Softmax),
      floating_row<make_softmax_bwd<float>, make_softmax_bwd<double>>(OpKind::SoftmaxBwd),
      floating_row<make_softmax<float>, make_softmax<double>>(OpKind::LogSoftmax),
      floating_row<make_softmax_bwd<float>, make_softmax_bwd<double>>(OpKind::LogSoftmaxBwd),
  };
}

}  // namespace pounce::reference
