#include <algorithm>
#include <cmath>

#include "backend/reference/families.h"

namespace pounce::reference {
namespace {

struct Extents {
  explicit Extents(const TensorType& x)
      : channels(channels_of(x)), rows(x.shape.elements() / channels) {}

  int64_t channels, rows;
};

template <typename T>
HostKernel make_layer_norm(const NodeContext& context) {
  Extents extents(context.input(0));
  double eps = context.node.attributes.number("eps");
  return [=](const KernelArguments& arguments) {
    const T* gamma = arguments.input<T>(1);
    const T* beta = arguments.input<T>(2);
    for (int64_t row = 0; row < extents.rows; ++row) {
      const T* x = arguments.input<T>(0) + row * extents.channels;
      T* y = arguments.output<T>(0) + row * extents.channels;
      double mean = 0, variance = 0;
      for (int64_t c = 0; c < extents.channels; ++c) mean += double(x[c]);
      mean /= double(extents.channels);
      for (int64_t c = 0; c < extents.channels; ++c) {
        variance += (double(x[c]) - mean) * (double(x[c]) - mean);
      }
      variance /= double(extents.channels);
      double inv_std = 1.0 / std::sqrt(variance + eps);
      for (int64_t c = 0; c < extents.channels; ++c) {
        y[c] = T(double(gamma[c]) * (double(x[c]) - mean) * inv_std + double(beta[c]));
      }
      arguments.output<T>(1)[row] = T(mean);
      arguments.output<T>(2)[row] = T(inv_std);
    }
  };
}

template <typename T>
HostKernel make_layer_norm_bwd(const NodeContext& context) {
  Extents extents(context.input(1));
  return [=](const KernelArguments& arguments) {
    const T* gamma = arguments.input<T>(2);
    double* grad_gamma = static_cast<double*>(arguments.workspace);
    double* grad_beta = grad_gamma + extents.channels;
    std::fill_n(grad_gamma, 2 * extents.channels, 0.0);
    for (int64_t row = 0; row < extents.rows; ++row) {
      const T* grad_y = arguments.input<T>(0) + row * extents.channels;
      const T* x = arguments.input<T>(1) + row * extents.channels;
      T* grad_x = arguments.output<T>(0) + row * extents.channels;
      double mean = double(arguments.input<T>(3)[row]);
      double inv_std = double(arguments.input<T>(4)[row]);
      auto normal = [&](int64_t c) { return (double(x[c]) - mean) * inv_std; };
      double sum = 0, product = 0;
      for (int64_t c = 0; c < extents.channels; ++c) {
        double grad = double(grad_y[c]) * double(gamma[c]);
        sum += grad, product += grad * normal(c);
        grad_gamma[c] += double(grad_y[c]) * normal(c);
        grad_beta[c] += double(grad_y[c]);
      }
      // Through y directly, through the mean and through the variance.
      for (int64_t c = 0; c < extents.channels; ++c) {
        double through_statistics = (sum + normal(c) * product) / double(extents.channels);
        grad_x[c] = T(inv_std * (double(grad_y[c]) * double(gamma[c]) - through_statistics));
      }
    }
    for (int64_t c = 0; c < extents.channels; ++c) {
      arguments.output<T>(1)[c] = T(grad_gamma[c]);
      arguments.output<T>(2)[c] = T(grad_beta[c]);
    }
  };
}

size_t two_doubles_a_channel(const NodeContext& context) {
  return 2 * size_t(channels_of(context.output(0))) * sizeof(double);
}

}  // namespace

std::vector<Row> layer_norm_kernels() {
  return {
      floating_row<make_layer_norm<float>, make_layer_norm<double>>(OpKind::LayerNorm),
      floating_row<make_layer_norm_bwd<float>, make_layer_norm_bwd<double>>(OpKind::LayerNormBwd,
                                                                            two_doubles_a_channel),
  };
}

}  // namespace pounce::reference
