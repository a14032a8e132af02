#include <algorithm>
#include <cmath>

#include "backend/reference/families.h"

namespace pounce::reference {
namespace {

// x as a matrix: a row holds one value of every channel.
struct Extents {
  explicit Extents(const TensorType& x)
      : channels(channels_of(x)), rows(x.shape.elements() / channels) {}

  int64_t channels, rows;
};

// sums[c] = sum over rows of value(i, c), where i indexes the element.
template <typename F>
void sum_rows(const Extents& extents, double* sums, F value) {
  std::fill_n(sums, extents.channels, 0.0);
  for (int64_t i = 0; i < extents.rows * extents.channels; ++i) {
    sums[i % extents.channels] += value(i, i % extents.channels);
  }
}

size_t two_doubles_a_channel(const NodeContext& context) {
  return 2 * size_t(channels_of(context.output(0))) * sizeof(double);
}

template <typename T>
HostKernel make_batch_norm(const NodeContext& context) {
  Extents extents(context.input(0));
  double eps = context.node.attributes.number("eps");
  double momentum = context.node.attributes.number("momentum");
  return [=](const KernelArguments& arguments) {
    const T* x = arguments.input<T>(0);
    const T* gamma = arguments.input<T>(1);
    const T* beta = arguments.input<T>(2);
    double* mean = static_cast<double*>(arguments.workspace);
    double* inv_std = mean + extents.channels;
    double count = double(extents.rows);
    sum_rows(extents, mean, [&](int64_t i, int64_t) { return double(x[i]); });
    for (int64_t c = 0; c < extents.channels; ++c) mean[c] /= count;
    sum_rows(extents, inv_std, [&](int64_t i, int64_t c) {
      double difference = double(x[i]) - mean[c];
      return difference * difference;
    });
    auto update = [&](size_t index, int64_t c, double batch) {
      double running = double(arguments.input<T>(index)[c]);
      arguments.output<T>(index)[c] = T((1.0 - momentum) * running + momentum * batch);
    };
    for (int64_t c = 0; c < extents.channels; ++c) {
      update(3, c, mean[c]);
      update(4, c, inv_std[c] / (count - 1.0));
      inv_std[c] = 1.0 / std::sqrt(inv_std[c] / count + eps);
      arguments.output<T>(1)[c] = T(mean[c]);
      arguments.output<T>(2)[c] = T(inv_std[c]);
    }
    T* y = arguments.output<T>(0);
    for (int64_t i = 0; i < extents.rows * extents.channels; ++i) {
      int64_t c = i % extents.channels;
      double normal = (double(x[i]) - mean[c]) * inv_std[c];
      y[i] = T(double(gamma[c]) * normal + double(beta[c]));
    }
  };
}

template <typename T>
HostKernel make_batch_norm_bwd(const NodeContext& context) {
  Extents extents(context.input(1));
  return [=](const KernelArguments& arguments) {
    const T* grad_y = arguments.input<T>(0);
    const T* x = arguments.input<T>(1);
    const T* gamma = arguments.input<T>(2);
    const T* mean = arguments.input<T>(3);
    const T* inv_std = arguments.input<T>(4);
    double* grad_gamma = static_cast<double*>(arguments.workspace);
    double* grad_beta = grad_gamma + extents.channels;
    auto normal = [&](int64_t i, int64_t c) {
      return (double(x[i]) - double(mean[c])) * double(inv_std[c]);
    };
    sum_rows(extents, grad_gamma,
             [&](int64_t i, int64_t c) { return double(grad_y[i]) * normal(i, c); });
    sum_rows(extents, grad_beta, [&](int64_t i, int64_t) { return double(grad_y[i]); });
    // Through y directly, through the mean and through the variance.
    T* grad_x = arguments.output<T>(0);
    for (int64_t i = 0; i < extents.rows * extents.channels; ++i) {
      int64_t c = i % extents.channels;
      double through_statistics =
          (grad_beta[c] + normal(i, c) * grad_gamma[c]) / double(extents.rows);
      grad_x[i] =
          T(double(gamma[c]) * double(inv_std[c]) * (double(grad_y[i]) - through_statistics));
    }
    for (int64_t c = 0; c < extents.channels; ++c) {
      arguments.output<T>(1)[c] = T(grad_gamma[c]);
      arguments.output<T>(2)[c] = T(grad_beta[c]);
    }
  };
}

template <typename T>
HostKernel make_batch_norm_inference(const NodeContext& context) {
  Extents extents(context.input(0));
  double eps = context.node.attributes.number("eps");
  return [=](const KernelArguments& arguments) {
    const T* x = arguments.input<T>(0);
    const T* gamma = arguments.input<T>(1);
    const T* beta = arguments.input<T>(2);
    const T* mean = arguments.input<T>(3);
    const T* variance = arguments.input<T>(4);
    T* y = arguments.output<T>(0);
    for (int64_t i = 0; i < extents.rows * extents.channels; ++i) {
      int64_t c = i % extents.channels;
      double normal = (double(x[i]) - double(mean[c])) / std::sqrt(double(variance[c]) + eps);
      y[i] = T(double(gamma[c]) * normal + double(beta[c]));
    }
  };
}

}  // namespace

std::vector<Row> norm_kernels() {
  return {
      floating_row<make_batch_norm<float>, make_batch_norm<double>>(OpKind::BatchNorm,
                                                                    two_doubles_a_channel),
      floating_row<make_batch_norm_bwd<float>, make_batch_norm_bwd<double>>(OpKind::BatchNormBwd,
                                                                            two_doubles_a_channel),
      floating_row<make_batch_norm_inference<float>, make_batch_norm_inference<double>>(
          OpKind::BatchNormInference),
  };
}

}  // namespace pounce::reference
