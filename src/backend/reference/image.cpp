#include <algorithm>

#include "backend/reference/families.h"
#include "base/error.h"

namespace pounce::reference {
namespace {

HostKernel make_normalize_image(const NodeContext& context) {
  std::vector<double> mean = context.node.attributes.numbers("mean");
  std::vector<double> std = context.node.attributes.numbers("std");
  int64_t elements = context.input(0).shape.elements();
  return [=](const KernelArguments& arguments) {
    const uint8_t* x = arguments.input<uint8_t>(0);
    float* y = arguments.output<float>(0);
    for (int64_t i = 0; i < elements; ++i) {
      size_t c = size_t(i) % mean.size();
      y[i] = float((double(x[i]) / 255.0 - mean[c]) / std[c]);
    }
  };
}

HostKernel make_one_hot(const NodeContext& context) {
  int64_t rows = context.output(0).shape[0];
  int64_t classes = context.output(0).shape[1];
  double smoothing = context.node.attributes.number("smoothing");
  return [=](const KernelArguments& arguments) {
    const int32_t* labels = arguments.input<int32_t>(0);
    float* targets = arguments.output<float>(0);
    double everywhere = smoothing / double(classes);
    std::fill_n(targets, rows * classes, float(everywhere));
    for (int64_t n = 0; n < rows; ++n) {
      if (labels[n] < 0 || labels[n] >= classes) {
        fail(ErrorKind::InvalidArgument, "sample {} has label {}, expected 0 to {}", n, labels[n],
             classes - 1);
      }
      targets[n * classes + labels[n]] = float(1.0 - smoothing + everywhere);
    }
  };
}

}  // namespace

std::vector<Row> image_kernels() {
  return {
      {OpKind::NormalizeImage,
       {.name = "reference", .refuse = refuse_other_floats, .make = make_normalize_image}},
      {OpKind::OneHot, {.name = "reference", .make = make_one_hot}},
  };
}

}  // namespace pounce::reference
