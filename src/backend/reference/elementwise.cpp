// The formulas of elementwise.def, compiled as C++.
#include <cmath>

#include "backend/reference/families.h"
#include "base/error.h"
#include "ir/broadcast.h"

namespace pounce::reference {
namespace {

template <typename T>
HostKernel make_elementwise(const NodeContext& context) {
  Formula<T> formula = formula_of<T>(context.node.op);
  // Formulas of one input ignore b.
  size_t second = context.node.inputs.size() - 1;
  const Shape& shape = context.output(0).shape;
  StridedWalk walk = broadcast_walk(shape, context.input(0).shape, context.input(second).shape);
  int64_t rows = shape.elements() == 0 ? 0 : shape.elements() / walk.inner();
  return [=](const KernelArguments& arguments) {
    T* y = arguments.output<T>(0);
    for (int64_t row = 0; row < rows; ++row) {
      StridedWalk::Offsets start = walk.row_offsets(row);
      const T* a = arguments.input<T>(0) + start.a;
      const T* b = arguments.input<T>(second) + start.b;
      for (int64_t i = 0; i < walk.inner(); ++i) {
        *y++ = formula(a[i * walk.inner_a()], b[i * walk.inner_b()]);
      }
    }
  };
}

}  // namespace

template <typename T>
Formula<T> formula_of(OpKind op) {
  using std::erf, std::exp, std::log, std::sqrt, std::tanh;
#define REAL(number) T(number)
  switch (op) {
#define POUNCE_ELEMENTWISE(kind, name, inputs, formula) \
  case OpKind::kind:                                    \
    return []([[maybe_unused]] T a, [[maybe_unused]] T b) { return T(formula); };
#include "ir/elementwise.def"
#undef POUNCE_ELEMENTWISE
#undef REAL
    default:
      fail(ErrorKind::Internal, "{} has no formula", op_info(op).name);
  }
}

template Formula<float> formula_of<float>(OpKind);
template Formula<double> formula_of<double>(OpKind);

std::vector<Row> elementwise_kernels() {
  return {
#define POUNCE_ELEMENTWISE(kind, name, inputs, formula) \
  floating_row<make_elementwise<float>, make_elementwise<double>>(OpKind::kind),
#include "ir/elementwise.def"
#undef POUNCE_ELEMENTWISE
  };
}

}  // namespace pounce::reference
