#include <algorithm>
#include <cmath>
#include <cstring>

#include "backend/reference/families.h"

namespace pounce::reference {
namespace {

template <typename T>
HostKernel make_typed_fill(const NodeContext& context) {
  T value = T(context.node.attributes.number("value"));
  int64_t elements = context.output(0).shape.elements();
  return [=](const KernelArguments& arguments) {
    std::fill_n(arguments.output<T>(0), elements, value);
  };
}

HostKernel make_fill(const NodeContext& context) {
  switch (context.output(0).dtype) {
    case DType::F64:
      return make_typed_fill<double>(context);
    case DType::F32:
      return make_typed_fill<float>(context);
    case DType::I64:
      return make_typed_fill<int64_t>(context);
    case DType::I32:
      return make_typed_fill<int32_t>(context);
    case DType::U8:
      return make_typed_fill<uint8_t>(context);
    case DType::F16:
    case DType::BF16:
      break;  // refused
  }
  return nullptr;
}

HostKernel make_copy(const NodeContext& context) {
  size_t bytes = size_t(context.input(0).bytes());
  return [=](const KernelArguments& arguments) {
    if (bytes != 0) std::memcpy(arguments.outputs[0], arguments.inputs[0], bytes);
  };
}

HostKernel make_increment(const NodeContext&) {
  return [](const KernelArguments& arguments) {
    const int64_t* stop = arguments.input<int64_t>(1);
    *arguments.output<int64_t>(0) = *arguments.input<int64_t>(0) + (stop[0] == 0 ? 1 : 0);
  };
}

HostKernel make_lookup(const NodeContext& context) {
  int64_t last = context.input(0).shape.elements() - 1;
  size_t bytes = dtype_bytes(context.input(0).dtype);
  return [=](const KernelArguments& arguments) {
    int64_t index = std::clamp<int64_t>(*arguments.input<int64_t>(1), 0, last);
    std::memcpy(arguments.outputs[0], arguments.input<char>(0) + size_t(index) * bytes, bytes);
  };
}

template <typename T>
HostKernel make_check_finite(const NodeContext& context) {
  int64_t elements = context.input(0).shape.elements();
  int64_t tag = context.node.attributes.integer("tag");
  return [=](const KernelArguments& arguments) {
    const T* x = arguments.input<T>(0);
    const int64_t* before = arguments.input<int64_t>(1);
    int64_t flag[2] = {before[0], before[1]};
    if (flag[0] == 0) {
      const T* bad = std::find_if(x, x + elements, [](T value) { return !std::isfinite(value); });
      if (bad != x + elements) flag[0] = tag + 1, flag[1] = bad - x;
    }
    std::copy_n(flag, 2, arguments.output<int64_t>(0));
  };
}

HostKernel make_all_reduce(const NodeContext& context) {
  TensorType type = context.input(0);
  return [type](const KernelArguments& arguments) {
    void* y = arguments.outputs[0];
    if (y != arguments.inputs[0]) std::memcpy(y, arguments.inputs[0], size_t(type.bytes()));
    arguments.communicator->all_reduce_sum(y, type.shape.elements(), type.dtype);
  };
}

std::optional<std::string> refuse_sum(const NodeContext& context) {
  if (!is_floating(context.input(0).dtype)) return "sums of integers are not served";
  return refuse_other_floats(context);
}

}  // namespace

std::vector<Row> control_kernels() {
  return {
      {OpKind::Fill, {.name = "reference", .refuse = refuse_other_floats, .make = make_fill}},
      {OpKind::Copy, {.name = "reference", .make = make_copy}},
      {OpKind::Increment, {.name = "reference", .make = make_increment}},
      {OpKind::Lookup, {.name = "reference", .make = make_lookup}},
      floating_row<make_check_finite<float>, make_check_finite<double>>(OpKind::CheckFinite),
      {OpKind::AllReduce, {.name = "reference", .refuse = refuse_sum, .make = make_all_reduce}},
  };
}

}  // namespace pounce::reference
