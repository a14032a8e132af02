// The formulas of elementwise.def, compiled as C++.
#include "backend/reference/families.h"

namespace pounce::reference {
namespace {

template <typename T, typename Formula>
HostKernel apply(const NodeContext& context, Formula formula) {
  int64_t elements = context.output(0).shape.elements();
  // Formulas of one input ignore b.
  size_t second = context.node.inputs.size() - 1;
  return [=](const KernelArguments& arguments) {
    const T* a = arguments.input<T>(0);
    const T* b = arguments.input<T>(second);
    T* y = arguments.output<T>(0);
    for (int64_t i = 0; i < elements; ++i) y[i] = formula(a[i], b[i]);
  };
}

template <typename T>
HostKernel make_elementwise(const NodeContext& context) {
  switch (context.node.op) {
#define POUNCE_ELEMENTWISE(kind, name, inputs, formula) \
  case OpKind::kind:                                    \
    return apply<T>(context, []([[maybe_unused]] T a, [[maybe_unused]] T b) { return T(formula); });
#include "ir/elementwise.def"
#undef POUNCE_ELEMENTWISE
    default:
      return nullptr;  // the table below names elementwise ops only
  }
}

}  // namespace

std::vector<Row> elementwise_kernels() {
  return {
#define POUNCE_ELEMENTWISE(kind, name, inputs, formula) \
  floating_row<make_elementwise<float>, make_elementwise<double>>(OpKind::kind),
#include "ir/elementwise.def"
#undef POUNCE_ELEMENTWISE
  };
}

}  // namespace pounce::reference
