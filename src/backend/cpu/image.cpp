#include "backend/cpu/kernels.h"
#include "backend/cpu/parallel.h"

namespace pounce::cpu {
namespace {

// A byte has 256 values, so every result stands in a table made beforehand, in double.
HostKernel make_normalize_image(const NodeContext& context) {
  const std::vector<double>& mean = context.node.attributes.numbers("mean");
  const std::vector<double>& std = context.node.attributes.numbers("std");
  int64_t channels = int64_t(mean.size());
  int64_t pixels = context.input(0).shape.elements() / channels;
  std::vector<float> table(256 * mean.size());  // byte, channel
  for (size_t i = 0; i < table.size(); ++i) {
    size_t c = i % mean.size();
    table[i] = float((double(i / mean.size()) / 255.0 - mean[c]) / std[c]);
  }
  return [=](const KernelArguments& arguments) {
    const uint8_t* x = arguments.input<uint8_t>(0);
    float* y = arguments.output<float>(0);
    auto piece = [&](int64_t first, int64_t end) {
      for (int64_t i = first * channels; i < end * channels; i += channels) {
        for (int64_t c = 0; c < channels; ++c) y[i + c] = table[size_t(x[i + c] * channels + c)];
      }
    };
    parallel_pieces(arguments.threads, pixels, kElementwiseGrain, piece);
  };
}

}  // namespace

std::vector<Row> image_kernels() {
  return {{OpKind::NormalizeImage,
           {.name = "table", .refuse = refuse_other_floats, .make = make_normalize_image}}};
}

}  // namespace pounce::cpu
