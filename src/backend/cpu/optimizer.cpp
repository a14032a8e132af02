// Every output may lie over its input, so each element is read before it is written.
#include <cmath>
#include <cstring>

#include "backend/cpu/kernels.h"
#include "backend/cpu/parallel.h"
#include "backend/cpu/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/optimizer.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef POUNCE_CPU_OPTIMIZER_ONCE
#define POUNCE_CPU_OPTIMIZER_ONCE
namespace pounce::cpu {
namespace {

struct SgdStep {
  float rate, divisor, momentum, decay;
  bool nesterov;
  const float *parameter, *gradient, *velocity;
  float *new_parameter, *new_velocity;
};

struct AdamStep {
  float divisor, beta1, beta2, eps;
  float rest1, rest2;  // 1 - beta, rounded once
  float keep;          // 1 - rate * decoupled decay
  float decay;         // coupled
  float rate;          // over the first moment's correction
  float correction2;   // 1 / square root of the second moment's correction
  const float *parameter, *gradient, *first, *second;
  float *new_parameter, *new_first, *new_second;
};

}  // namespace
}  // namespace pounce::cpu
#endif  // POUNCE_CPU_OPTIMIZER_ONCE

HWY_BEFORE_NAMESPACE();
namespace pounce::cpu {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

void sgd_range(const SgdStep& s, int64_t first, int64_t end) {
  // What the optimizer calls a look-ahead is one factor of the velocity and one of the gradient.
  float of_velocity = s.nesterov ? s.momentum : 1.0f;
  float of_gradient = s.nesterov ? 1.0f : 0.0f;
  POUNCE_VECTORIZE
  for (int64_t i = first; i < end; ++i) {
    float parameter = s.parameter[i];
    float gradient = s.gradient[i] / s.divisor + s.decay * parameter;
    float velocity = s.momentum * s.velocity[i] + gradient;
    s.new_parameter[i] = parameter - s.rate * (of_velocity * velocity + of_gradient * gradient);
    s.new_velocity[i] = velocity;
  }
}

template <class D>
HWY_INLINE void adam_vector(D d, const AdamStep& s, int64_t i) {
  using V = hn::Vec<D>;
  V parameter = hn::LoadU(d, s.parameter + i);
  V gradient = hn::Div(hn::LoadU(d, s.gradient + i), hn::Set(d, s.divisor));
  gradient = hn::MulAdd(hn::Set(d, s.decay), parameter, gradient);
  V first = hn::Mul(hn::Set(d, s.beta1), hn::LoadU(d, s.first + i));
  first = hn::MulAdd(hn::Set(d, s.rest1), gradient, first);
  V second = hn::Mul(hn::Set(d, s.beta2), hn::LoadU(d, s.second + i));
  second = hn::MulAdd(hn::Mul(hn::Set(d, s.rest2), gradient), gradient, second);
  V denominator = hn::MulAdd(hn::Sqrt(second), hn::Set(d, s.correction2), hn::Set(d, s.eps));
  V step = hn::Div(hn::Mul(hn::Set(d, s.rate), first), denominator);
  V kept = hn::Mul(hn::Set(d, s.keep), parameter);
  hn::StoreU(hn::Sub(kept, step), d, s.new_parameter + i);
  hn::StoreU(first, d, s.new_first + i);
  hn::StoreU(second, d, s.new_second + i);
}

void adam_range(const AdamStep& s, int64_t first, int64_t end) {
  const hn::ScalableTag<float> d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  int64_t i = first;
  for (; i + lanes <= end; i += lanes) adam_vector(d, s, i);
  for (; i < end; ++i) adam_vector(hn::CappedTag<float, 1>(), s, i);
}

// Eight sums at a time, added in order: enough for the pipeline, the same on every machine.
double sum_squares_range(const float* x, int64_t first, int64_t end) {
  double sums[8] = {};
  int64_t i = first;
  for (; i + 8 <= end; i += 8) {
    for (int64_t j = 0; j < 8; ++j) sums[j] += double(x[i + j]) * double(x[i + j]);
  }
  for (; i < end; ++i) sums[0] += double(x[i]) * double(x[i]);
  double sum = 0;
  for (double each : sums) sum += each;
  return sum;
}

void moving_average_range(const float* average, const float* x, float decay, float* out,
                          int64_t first, int64_t end) {
  float rest = 1.0f - decay;
  POUNCE_VECTORIZE
  for (int64_t i = first; i < end; ++i) out[i] = decay * average[i] + rest * x[i];
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace pounce::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pounce::cpu {
namespace {

HWY_EXPORT(sgd_range);
HWY_EXPORT(adam_range);
HWY_EXPORT(sum_squares_range);
HWY_EXPORT(moving_average_range);

// What a set stop flag asks for.
void keep(const KernelArguments& arguments, int64_t elements, size_t output, size_t input) {
  const float* before = arguments.input<float>(input);
  float* after = arguments.output<float>(output);
  if (after != before) std::copy_n(before, elements, after);
}

HostKernel make_sgd(const NodeContext& context) {
  int64_t elements = context.input(0).shape.elements();
  SgdStep constants{};
  constants.momentum = float(context.node.attributes.number("momentum"));
  constants.decay = float(context.node.attributes.number("weight_decay"));
  constants.nesterov = context.node.attributes.integer("nesterov") != 0;
  return [=](const KernelArguments& arguments) {
    if (arguments.input<int64_t>(5)[0] != 0) {
      keep(arguments, elements, 0, 0);
      keep(arguments, elements, 1, 2);
      return;
    }
    SgdStep step = constants;
    step.rate = *arguments.input<float>(3);
    step.divisor = *arguments.input<float>(4);
    step.parameter = arguments.input<float>(0);
    step.gradient = arguments.input<float>(1);
    step.velocity = arguments.input<float>(2);
    step.new_parameter = arguments.output<float>(0);
    step.new_velocity = arguments.output<float>(1);
    parallel_pieces(arguments.threads, elements, kElementwiseGrain,
                    [&](int64_t first, int64_t end) {
                      HWY_DYNAMIC_DISPATCH(sgd_range)(step, first, end);
                    });
  };
}

struct AdamConstants {
  double beta1, beta2, eps, decay;
  bool decoupled;
};

AdamStep adam_step(const KernelArguments& arguments, const AdamConstants& k) {
  double rate = double(*arguments.input<float>(4));
  double count = double(*arguments.input<int64_t>(5)) + 1.0;
  AdamStep step{};
  step.divisor = *arguments.input<float>(6);
  step.beta1 = float(k.beta1), step.beta2 = float(k.beta2), step.eps = float(k.eps);
  step.rest1 = float(1.0 - k.beta1), step.rest2 = float(1.0 - k.beta2);
  step.keep = k.decoupled ? float(1.0 - rate * k.decay) : 1.0f;
  step.decay = k.decoupled ? 0.0f : float(k.decay);
  step.rate = float(rate / (1.0 - std::pow(k.beta1, count)));
  step.correction2 = float(1.0 / std::sqrt(1.0 - std::pow(k.beta2, count)));
  step.parameter = arguments.input<float>(0);
  step.gradient = arguments.input<float>(1);
  step.first = arguments.input<float>(2);
  step.second = arguments.input<float>(3);
  step.new_parameter = arguments.output<float>(0);
  step.new_first = arguments.output<float>(1);
  step.new_second = arguments.output<float>(2);
  return step;
}

HostKernel make_adam(const NodeContext& context) {
  int64_t elements = context.input(0).shape.elements();
  const Attributes& attributes = context.node.attributes;
  AdamConstants constants{attributes.number("beta1"), attributes.number("beta2"),
                          attributes.number("eps"), attributes.number("weight_decay"),
                          attributes.integer("decoupled") != 0};
  return [=](const KernelArguments& arguments) {
    if (arguments.input<int64_t>(7)[0] != 0) {
      keep(arguments, elements, 0, 0);
      keep(arguments, elements, 1, 2);
      keep(arguments, elements, 2, 3);
      return;
    }
    AdamStep step = adam_step(arguments, constants);
    parallel_pieces(arguments.threads, elements, kElementwiseGrain,
                    [&](int64_t first, int64_t end) {
                      HWY_DYNAMIC_DISPATCH(adam_range)(step, first, end);
                    });
  };
}

int64_t sum_pieces(const NodeContext& context) {
  return (context.input(0).shape.elements() + kElementwiseGrain - 1) / kElementwiseGrain;
}

size_t sum_squares_workspace(const NodeContext& context) {
  return size_t(sum_pieces(context)) * sizeof(double);
}

HostKernel make_sum_squares(const NodeContext& context) {
  int64_t elements = context.input(0).shape.elements();
  int64_t pieces = sum_pieces(context);
  return [=](const KernelArguments& arguments) {
    double* sums = static_cast<double*>(arguments.workspace);
    const float* x = arguments.input<float>(0);
    parallel_pieces(
        arguments.threads, elements, kElementwiseGrain, [&](int64_t first, int64_t end) {
          sums[first / kElementwiseGrain] = HWY_DYNAMIC_DISPATCH(sum_squares_range)(x, first, end);
        });
    double sum = double(*arguments.input<float>(1));
    for (int64_t piece = 0; piece < pieces; ++piece) sum += sums[piece];
    *arguments.output<float>(0) = float(sum);
  };
}

HostKernel make_moving_average(const NodeContext& context) {
  int64_t elements = context.input(0).shape.elements();
  double decay = context.node.attributes.number("decay");
  return [=](const KernelArguments& arguments) {
    if (arguments.input<int64_t>(3)[0] != 0) return keep(arguments, elements, 0, 0);
    double updates = double(*arguments.input<int64_t>(2));
    float d = float(std::min(decay, (1.0 + updates) / (10.0 + updates)));
    parallel_pieces(arguments.threads, elements, kElementwiseGrain,
                    [&](int64_t first, int64_t end) {
                      HWY_DYNAMIC_DISPATCH(moving_average_range)
                      (arguments.input<float>(0), arguments.input<float>(1), d,
                       arguments.output<float>(0), first, end);
                    });
  };
}

}  // namespace

std::vector<Row> optimizer_kernels() {
  return {
      {OpKind::Sgd, {.name = "simd", .refuse = refuse_other_floats, .make = make_sgd}},
      {OpKind::Adam, {.name = "simd", .refuse = refuse_other_floats, .make = make_adam}},
      {OpKind::SumSquares,
       {.name = "simd",
        .refuse = refuse_other_floats,
        .workspace_bytes = sum_squares_workspace,
        .make = make_sum_squares}},
      {OpKind::MovingAverage,
       {.name = "simd", .refuse = refuse_other_floats, .make = make_moving_average}},
  };
}

}  // namespace pounce::cpu
#endif  // HWY_ONCE
