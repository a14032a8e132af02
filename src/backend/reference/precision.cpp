// Between floating types, and what keeps the gradients of half precision in range.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "backend/reference/families.h"

namespace pounce::reference {
namespace {

template <typename From, typename To>
HostKernel make_typed_cast(int64_t elements) {
  return [=](const KernelArguments& arguments) {
    const From* x = arguments.input<From>(0);
    std::transform(x, x + elements, arguments.output<To>(0), [](From value) { return To(value); });
  };
}

// Halves are served by the wrapper of all kernels (half.cpp), for which this is a copy.
HostKernel make_cast(const NodeContext& context) {
  int64_t elements = context.input(0).shape.elements();
  bool to_double = context.output(0).dtype == DType::F64;
  if (context.input(0).dtype == DType::F64) {
    return to_double ? make_typed_cast<double, double>(elements)
                     : make_typed_cast<double, float>(elements);
  }
  return to_double ? make_typed_cast<float, double>(elements)
                   : make_typed_cast<float, float>(elements);
}

HostKernel make_select(const NodeContext& context) {
  size_t bytes = size_t(context.output(0).bytes());
  return [=](const KernelArguments& arguments) {
    bool is_set = arguments.input<int64_t>(0)[0] != 0;
    const void* chosen = arguments.inputs[is_set ? 1 : 2];
    if (bytes != 0 && arguments.outputs[0] != chosen) {
      std::memcpy(arguments.outputs[0], chosen, bytes);
    }
  };
}

struct ScaleCounts {
  int64_t good, skipped, in_a_row;
};

struct Flag {
  int64_t tag, index;
};

// Everything is read before anything is written: outputs may lie over inputs.
HostKernel make_loss_scale(const NodeContext& context) {
  int64_t interval = context.node.attributes.integer("growth_interval");
  float least = float(context.node.attributes.number("least"));
  float most = float(context.node.attributes.number("most"));
  return [=](const KernelArguments& arguments) {
    float scale = *arguments.input<float>(0);
    ScaleCounts counts = *arguments.input<ScaleCounts>(1);
    Flag overflow = *arguments.input<Flag>(2), stop = *arguments.input<Flag>(3), hold = stop;
    if (stop.tag == 0 && overflow.tag != 0) {
      hold = overflow;
      if (scale <= least) {
        stop = overflow;
      } else {
        scale = std::max(scale / 2, least);
        counts = {0, counts.skipped + 1, counts.in_a_row + 1};
      }
    } else if (stop.tag == 0) {
      counts = {counts.good + 1, counts.skipped, 0};
      if (counts.good >= interval) {
        scale = std::min(scale * 2, most);
        counts.good = 0;
      }
    }
    *arguments.output<float>(0) = scale;
    *arguments.output<ScaleCounts>(1) = counts;
    *arguments.output<Flag>(2) = stop;
    *arguments.output<Flag>(3) = hold;
  };
}

template <typename T>
HostKernel make_largest_magnitude(const NodeContext& context) {
  int64_t elements = context.input(0).shape.elements();
  return [=](const KernelArguments& arguments) {
    const T* x = arguments.input<T>(0);
    T largest = 0;
    for (int64_t i = 0; i < elements && !std::isnan(largest); ++i) {
      T magnitude = std::abs(x[i]);
      if (magnitude > largest || std::isnan(magnitude)) largest = magnitude;
    }
    *arguments.output<float>(0) = float(largest);
  };
}

}  // namespace

std::vector<Row> precision_kernels() {
  return {
      {OpKind::Cast, {.name = "reference", .refuse = refuse_other_floats, .make = make_cast}},
      {OpKind::Select, {.name = "reference", .make = make_select}},
      floating_row<make_largest_magnitude<float>, make_largest_magnitude<double>>(
          OpKind::LargestMagnitude),
      {OpKind::LossScale, {.name = "reference", .make = make_loss_scale}},
  };
}

}  // namespace pounce::reference
