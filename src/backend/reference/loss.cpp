#include <algorithm>
#include <cmath>

#include "backend/reference/families.h"
#include "base/error.h"

namespace pounce::reference {
namespace {

// log sum_c exp(row[c]), without overflow.
template <typename T>
double log_sum_exp(const T* row, int64_t classes) {
  double largest = double(*std::max_element(row, row + classes));
  double sum = 0;
  for (int64_t c = 0; c < classes; ++c) sum += std::exp(double(row[c]) - largest);
  return largest + std::log(sum);
}

template <typename T>
HostKernel make_cross_entropy(const NodeContext& context) {
  int64_t rows = context.input(0).shape[0];
  int64_t classes = context.input(0).shape[1];
  return [=](const KernelArguments& arguments) {
    const T* weights = arguments.input<T>(2);
    T* loss = arguments.output<T>(0);
    for (int64_t n = 0; n < rows; ++n) {
      const T* logits = arguments.input<T>(0) + n * classes;
      const T* targets = arguments.input<T>(1) + n * classes;
      double normaliser = log_sum_exp(logits, classes);
      double sum = 0;
      for (int64_t c = 0; c < classes; ++c) {
        sum += double(targets[c]) * (normaliser - double(logits[c]));
      }
      loss[n] = T(double(weights[n]) * sum);
    }
  };
}

template <typename T>
HostKernel make_cross_entropy_bwd(const NodeContext& context) {
  int64_t rows = context.input(1).shape[0];
  int64_t classes = context.input(1).shape[1];
  return [=](const KernelArguments& arguments) {
    const T* grad_loss = arguments.input<T>(0);
    const T* weights = arguments.input<T>(3);
    for (int64_t n = 0; n < rows; ++n) {
      const T* logits = arguments.input<T>(1) + n * classes;
      const T* targets = arguments.input<T>(2) + n * classes;
      T* grad_logits = arguments.output<T>(0) + n * classes;
      double normaliser = log_sum_exp(logits, classes);
      double mass = 0;  // 1 for probabilities; nothing asks for that
      for (int64_t c = 0; c < classes; ++c) mass += double(targets[c]);
      double scale = double(grad_loss[n]) * double(weights[n]);
      for (int64_t c = 0; c < classes; ++c) {
        double probability = std::exp(double(logits[c]) - normaliser);
        grad_logits[c] = T(scale * (mass * probability - double(targets[c])));
      }
    }
  };
}

// A row that holds NaN ranks `classes`, behind every class: it must never count as correct.
template <typename T>
int64_t rank_of(const T* logits, int64_t classes, int64_t label) {
  int64_t rank = 0;
  for (int64_t c = 0; c < classes; ++c) {
    if (std::isnan(logits[c])) return classes;
    bool ahead = logits[c] > logits[label] || (logits[c] == logits[label] && c < label);
    if (ahead) ++rank;
  }
  return rank;
}

template <typename T>
HostKernel make_target_rank(const NodeContext& context) {
  int64_t rows = context.input(0).shape[0];
  int64_t classes = context.input(0).shape[1];
  return [=](const KernelArguments& arguments) {
    const int32_t* labels = arguments.input<int32_t>(1);
    for (int64_t n = 0; n < rows; ++n) {
      if (labels[n] < 0 || labels[n] >= classes) {
        fail(ErrorKind::InvalidArgument, "sample {} has label {}, expected 0 to {}", n, labels[n],
             classes - 1);
      }
      const T* logits = arguments.input<T>(0) + n * classes;
      arguments.output<int32_t>(0)[n] = int32_t(rank_of(logits, classes, labels[n]));
    }
  };
}

}  // namespace

std::vector<Row> loss_kernels() {
  return {
      floating_row<make_cross_entropy<float>, make_cross_entropy<double>>(OpKind::CrossEntropy),
      floating_row<make_cross_entropy_bwd<float>, make_cross_entropy_bwd<double>>(
          OpKind::CrossEntropyBwd),
      floating_row<make_target_rank<float>, make_target_rank<double>>(OpKind::TargetRank),
  };
}

}  // namespace pounce::reference
