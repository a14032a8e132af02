// Every output may lie over its input, so each element is read before it is written.
#include <algorithm>
#include <cmath>

#include "backend/reference/families.h"

namespace pounce::reference {
namespace {

template <typename T>
void keep(const KernelArguments& arguments, int64_t elements, size_t output, size_t input) {
  const T* before = arguments.input<T>(input);
  T* after = arguments.output<T>(output);
  if (after != before) std::copy_n(before, elements, after);
}

template <typename T>
HostKernel make_sgd(const NodeContext& context) {
  int64_t elements = context.input(0).shape.elements();
  double momentum = context.node.attributes.number("momentum");
  double decay = context.node.attributes.number("weight_decay");
  bool nesterov = context.node.attributes.integer("nesterov") != 0;
  return [=](const KernelArguments& arguments) {
    if (arguments.input<int64_t>(5)[0] != 0) {
      keep<T>(arguments, elements, 0, 0);
      keep<T>(arguments, elements, 1, 2);
      return;
    }
    double rate = double(*arguments.input<float>(3));
    double divisor = double(*arguments.input<float>(4));
    for (int64_t i = 0; i < elements; ++i) {
      double parameter = double(arguments.input<T>(0)[i]);
      double gradient = double(arguments.input<T>(1)[i]) / divisor + decay * parameter;
      double velocity = momentum * double(arguments.input<T>(2)[i]) + gradient;
      double step = nesterov ? gradient + momentum * velocity : velocity;
      arguments.output<T>(0)[i] = T(parameter - rate * step);
      arguments.output<T>(1)[i] = T(velocity);
    }
  };
}

struct AdamConstants {
  explicit AdamConstants(const Attributes& attributes)
      : beta1(attributes.number("beta1")),
        beta2(attributes.number("beta2")),
        eps(attributes.number("eps")),
        decay(attributes.number("weight_decay")),
        decoupled(attributes.integer("decoupled") != 0) {}

  double beta1, beta2, eps, decay;
  bool decoupled;
};

template <typename T>
void adam_step(const KernelArguments& arguments, int64_t elements, const AdamConstants& k) {
  double rate = double(*arguments.input<float>(4));
  double step = double(*arguments.input<int64_t>(5)) + 1.0;
  double divisor = double(*arguments.input<float>(6));
  double correction1 = 1.0 - std::pow(k.beta1, step);
  double correction2 = std::sqrt(1.0 - std::pow(k.beta2, step));
  for (int64_t i = 0; i < elements; ++i) {
    double parameter = double(arguments.input<T>(0)[i]);
    double gradient = double(arguments.input<T>(1)[i]) / divisor;
    if (k.decoupled) {
      parameter *= 1.0 - rate * k.decay;
    } else {
      gradient += k.decay * parameter;
    }
    double first = k.beta1 * double(arguments.input<T>(2)[i]) + (1.0 - k.beta1) * gradient;
    double second =
        k.beta2 * double(arguments.input<T>(3)[i]) + (1.0 - k.beta2) * gradient * gradient;
    double denominator = std::sqrt(second) / correction2 + k.eps;
    arguments.output<T>(0)[i] = T(parameter - rate / correction1 * first / denominator);
    arguments.output<T>(1)[i] = T(first);
    arguments.output<T>(2)[i] = T(second);
  }
}

template <typename T>
HostKernel make_adam(const NodeContext& context) {
  int64_t elements = context.input(0).shape.elements();
  AdamConstants constants(context.node.attributes);
  return [=](const KernelArguments& arguments) {
    if (arguments.input<int64_t>(7)[0] == 0) return adam_step<T>(arguments, elements, constants);
    keep<T>(arguments, elements, 0, 0);
    keep<T>(arguments, elements, 1, 2);
    keep<T>(arguments, elements, 2, 3);
  };
}

template <typename T>
HostKernel make_sum_squares(const NodeContext& context) {
  int64_t elements = context.input(0).shape.elements();
  return [=](const KernelArguments& arguments) {
    double sum = double(*arguments.input<float>(1));
    for (int64_t i = 0; i < elements; ++i) {
      double x = double(arguments.input<T>(0)[i]);
      sum += x * x;
    }
    *arguments.output<float>(0) = float(sum);
  };
}

HostKernel make_clip_divisor(const NodeContext& context) {
  double max_norm = context.node.attributes.number("max_norm");
  return [=](const KernelArguments& arguments) {
    double divisor = double(*arguments.input<float>(0));
    double norm = std::sqrt(double(*arguments.input<float>(1))) / divisor;
    *arguments.output<float>(0) = float(divisor * std::max(1.0, (norm + 1e-6) / max_norm));
  };
}

template <typename T>
HostKernel make_moving_average(const NodeContext& context) {
  int64_t elements = context.input(0).shape.elements();
  double decay = context.node.attributes.number("decay");
  return [=](const KernelArguments& arguments) {
    if (arguments.input<int64_t>(3)[0] != 0) return keep<T>(arguments, elements, 0, 0);
    double updates = double(*arguments.input<int64_t>(2));
    double d = std::min(decay, (1.0 + updates) / (10.0 + updates));
    for (int64_t i = 0; i < elements; ++i) {
      double average = double(arguments.input<T>(0)[i]);
      double x = double(arguments.input<T>(1)[i]);
      arguments.output<T>(0)[i] = T(d * average + (1.0 - d) * x);
    }
  };
}

}  // namespace

std::vector<Row> optimizer_kernels() {
  return {
      floating_row<make_sgd<float>, make_sgd<double>>(OpKind::Sgd),
      floating_row<make_adam<float>, make_adam<double>>(OpKind::Adam),
      floating_row<make_sum_squares<float>, make_sum_squares<double>>(OpKind::SumSquares),
      {OpKind::ClipDivisor, {.name = "reference", .make = make_clip_divisor}},
      floating_row<make_moving_average<float>, make_moving_average<double>>(OpKind::MovingAverage),
  };
}

}  // namespace pounce::reference
