#include <algorithm>
#include <cmath>

#include "backend/cpu/kernels.h"
#include "backend/cpu/parallel.h"

namespace pounce::cpu {
namespace {

// log sum_c exp(row[c]), without overflow.
double log_sum_exp(const float* row, int64_t classes) {
  double largest = double(*std::max_element(row, row + classes));
  double sum = 0;
  for (int64_t c = 0; c < classes; ++c) sum += std::exp(double(row[c]) - largest);
  return largest + std::log(sum);
}

HostKernel make_cross_entropy(const NodeContext& context) {
  int64_t rows = context.input(0).shape[0], classes = context.input(0).shape[1];
  return [=](const KernelArguments& arguments) {
    parallel_for(arguments.threads, rows, [&](int64_t n) {
      const float* logits = arguments.input<float>(0) + n * classes;
      const float* targets = arguments.input<float>(1) + n * classes;
      double normaliser = log_sum_exp(logits, classes);
      double sum = 0;
      for (int64_t c = 0; c < classes; ++c) {
        sum += double(targets[c]) * (normaliser - double(logits[c]));
      }
      arguments.output<float>(0)[n] = float(double(arguments.input<float>(2)[n]) * sum);
    });
  };
}

HostKernel make_cross_entropy_bwd(const NodeContext& context) {
  int64_t rows = context.input(1).shape[0], classes = context.input(1).shape[1];
  return [=](const KernelArguments& arguments) {
    parallel_for(arguments.threads, rows, [&](int64_t n) {
      const float* logits = arguments.input<float>(1) + n * classes;
      const float* targets = arguments.input<float>(2) + n * classes;
      float* grad_logits = arguments.output<float>(0) + n * classes;
      double normaliser = log_sum_exp(logits, classes);
      double mass = 0;
      for (int64_t c = 0; c < classes; ++c) mass += double(targets[c]);
      double scale = double(arguments.input<float>(0)[n]) * double(arguments.input<float>(3)[n]);
      for (int64_t c = 0; c < classes; ++c) {
        double probability = std::exp(double(logits[c]) - normaliser);
        grad_logits[c] = float(scale * (mass * probability - double(targets[c])));
      }
    });
  };
}

}  // namespace

std::vector<Row> loss_kernels() {
  return {
      {OpKind::CrossEntropy,
       {.name = "rows", .refuse = refuse_other_floats, .make = make_cross_entropy}},
      {OpKind::CrossEntropyBwd,
       {.name = "rows", .refuse = refuse_other_floats, .make = make_cross_entropy_bwd}},
  };
}

}  // namespace pounce::cpu
