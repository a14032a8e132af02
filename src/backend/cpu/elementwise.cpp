// The formulas of elementwise.def as loops for every instruction set.
#include "backend/cpu/elementwise.h"

#include "backend/cpu/kernels.h"
#include "backend/cpu/parallel.h"
#include "backend/cpu/simd.h"
#include "base/error.h"
#include "ir/broadcast.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/elementwise.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "backend/cpu/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pounce::cpu {
namespace HWY_NAMESPACE {
namespace {

template <bool kBroadcast, typename Formula>
HWY_INLINE void apply(const Operands& o, float* ys, int64_t count, const Formula& formula) {
  if (kBroadcast && o.repeat_a) {
    float a = *o.a;
    POUNCE_VECTORIZE
    for (int64_t i = 0; i < count; ++i) ys[i] = formula(a, o.b[i]);
  } else if (kBroadcast && o.repeat_b) {
    float b = *o.b;
    POUNCE_VECTORIZE
    for (int64_t i = 0; i < count; ++i) ys[i] = formula(o.a[i], b);
  } else {
    POUNCE_VECTORIZE
    for (int64_t i = 0; i < count; ++i) ys[i] = formula(o.a[i], o.b[i]);
  }
}

#define REAL(number) number##f
#define POUNCE_ELEMENTWISE(kind, name, inputs, formula)                  \
  void apply##kind(const Operands& operands, float* ys, int64_t count) { \
    apply<is_broadcast_arithmetic(OpKind::kind)>(                        \
        operands, ys, count,                                             \
        []([[maybe_unused]] float a, [[maybe_unused]] float b)           \
            __attribute__((always_inline)) { return float(formula); });  \
  }
#include "ir/elementwise.def"
#undef POUNCE_ELEMENTWISE
#undef REAL

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace pounce::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pounce::cpu {
namespace {

#define POUNCE_ELEMENTWISE(kind, name, inputs, formula)                \
  HWY_EXPORT(apply##kind);                                             \
  void run##kind(const Operands& operands, float* ys, int64_t count) { \
    HWY_DYNAMIC_DISPATCH(apply##kind)(operands, ys, count);            \
  }
#include "ir/elementwise.def"
#undef POUNCE_ELEMENTWISE

HostKernel make_elementwise(const NodeContext& context) {
  ElementwiseLoop loop = elementwise_loop(context.node.op);
  const Shape& shape = context.output(0).shape;
  int64_t elements = shape.elements();
  // Formulas of one input ignore b.
  size_t second = context.node.inputs.size() - 1;
  StridedWalk walk = broadcast_walk(shape, context.input(0).shape, context.input(second).shape);
  return [=](const KernelArguments& arguments) {
    const float* a = arguments.input<float>(0);
    const float* b = arguments.input<float>(second);
    float* y = arguments.output<float>(0);
    // Pieces may begin and end within a row of the walk.
    auto piece = [&](int64_t first, int64_t end) {
      for (int64_t i = first; i < end;) {
        int64_t column = i % walk.inner();
        int64_t run = std::min(walk.inner() - column, end - i);
        StridedWalk::Offsets start = walk.row_offsets(i / walk.inner());
        Operands operands{a + start.a + column * walk.inner_a(),
                          b + start.b + column * walk.inner_b(), walk.inner_a() == 0,
                          walk.inner_b() == 0};
        loop(operands, y + i, run);
        i += run;
      }
    };
    parallel_pieces(arguments.threads, elements, kElementwiseGrain, piece);
  };
}

Row row(OpKind op) {
  return {op, {.name = "simd", .refuse = refuse_other_floats, .make = make_elementwise}};
}

}  // namespace

ElementwiseLoop elementwise_loop(OpKind op) {
  switch (op) {
#define POUNCE_ELEMENTWISE(kind, name, inputs, formula) \
  case OpKind::kind:                                    \
    return run##kind;
#include "ir/elementwise.def"
#undef POUNCE_ELEMENTWISE
    default:
      fail(ErrorKind::Internal, "{} has no formula", op_info(op).name);
  }
}

std::vector<Row> elementwise_kernels() {
  return {
#define POUNCE_ELEMENTWISE(kind, name, inputs, formula) row(OpKind::kind),
#include "ir/elementwise.def"
#undef POUNCE_ELEMENTWISE
  };
}

}  // namespace pounce::cpu
#endif  // HWY_ONCE
