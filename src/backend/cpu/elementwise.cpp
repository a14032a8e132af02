// The formulas of elementwise.def as loops for every instruction set.
#include "backend/cpu/kernels.h"
#include "backend/cpu/parallel.h"
#include "backend/cpu/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/elementwise.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace pounce::cpu {
namespace HWY_NAMESPACE {
namespace {

#define POUNCE_ELEMENTWISE(kind, name, inputs, formula)                          \
  void apply##kind(const float* as, const float* bs, float* ys, int64_t count) { \
    POUNCE_VECTORIZE                                                             \
    for (int64_t i = 0; i < count; ++i) {                                        \
      [[maybe_unused]] float a = as[i];                                          \
      [[maybe_unused]] float b = bs[i];                                          \
      ys[i] = formula;                                                           \
    }                                                                            \
  }
#include "ir/elementwise.def"
#undef POUNCE_ELEMENTWISE

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace pounce::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pounce::cpu {
namespace {

using Loop = void (*)(const float*, const float*, float*, int64_t);

#define POUNCE_ELEMENTWISE(kind, name, inputs, formula)                        \
  HWY_EXPORT(apply##kind);                                                     \
  void run##kind(const float* as, const float* bs, float* ys, int64_t count) { \
    HWY_DYNAMIC_DISPATCH(apply##kind)(as, bs, ys, count);                      \
  }
#include "ir/elementwise.def"
#undef POUNCE_ELEMENTWISE

template <Loop loop>
HostKernel make_elementwise(const NodeContext& context) {
  int64_t elements = context.output(0).shape.elements();
  // Formulas of one input ignore b.
  size_t second = context.node.inputs.size() - 1;
  return [=](const KernelArguments& arguments) {
    const float* a = arguments.input<float>(0);
    const float* b = arguments.input<float>(second);
    float* y = arguments.output<float>(0);
    parallel_pieces(
        arguments.threads, elements, kElementwiseGrain,
        [&](int64_t first, int64_t end) { loop(a + first, b + first, y + first, end - first); });
  };
}

template <Loop loop>
Row row(OpKind op) {
  return {op, {.name = "simd", .refuse = refuse_other_floats, .make = make_elementwise<loop>}};
}

}  // namespace

std::vector<Row> elementwise_kernels() {
  return {
#define POUNCE_ELEMENTWISE(kind, name, inputs, formula) row<run##kind>(OpKind::kind),
#include "ir/elementwise.def"
#undef POUNCE_ELEMENTWISE
  };
}

}  // namespace pounce::cpu
#endif  // HWY_ONCE
