// Programs of elementwise ops, one element after the other; every step rounds to the element type,
// as a node of its own would.
#include <array>

#include "backend/composed.h"
#include "backend/reference/families.h"
#include "backend/reference/kernels.h"
#include "base/half.h"
#include "ir/broadcast.h"

namespace pounce::reference {
namespace {

// How elements of a type are stored and computed with.
template <typename T>
struct Full {
  using Stored = T;
  using Number = T;
  static T number(T stored) { return stored; }
  static T stored(T number) { return number; }
};

struct Half {
  using Stored = uint16_t;
  using Number = float;
  static float number(uint16_t stored) { return float_from_half(stored); }
  static uint16_t stored(float number) { return half_from_float(number); }
};

struct BFloat16 {
  using Stored = uint16_t;
  using Number = float;
  static float number(uint16_t stored) { return float_from_bfloat16(stored); }
  static uint16_t stored(float number) { return bfloat16_from_float(number); }
};

template <typename T>
struct Step {
  Formula<T> formula;
  int a, b;
};

template <typename Form>
ProgramKernel make_program_in(const NodeContext& context) {
  using Number = typename Form::Number;
  using Stored = typename Form::Stored;
  const ElementwiseProgram program = program_of(context.node);
  const Shape& shape = context.output(0).shape;
  std::vector<StridedWalk> walks;
  for (Value operand : program_operands(context.node)) {
    const Shape& own = context.graph.shape(operand);
    walks.push_back(broadcast_walk(shape, own, own));
  }
  std::vector<Step<Number>> steps;
  for (const ProgramStep& step : program.steps) {
    steps.push_back({formula_of<Number>(step.op), step.a, step.b});
  }
  return [=, elements = shape.elements()](const KernelArguments&, const ProgramOperands& operands,
                                          void* result) {
    std::array<Number, size_t(kMostProgramOperands + kMostProgramSteps)> values;
    for (int64_t i = 0; i < elements; ++i) {
      size_t count = 0;
      for (const StridedWalk& walk : walks) {
        int64_t at = walk.row_offsets(i / walk.inner()).a + i % walk.inner() * walk.inner_a();
        values[count] = Form::number(static_cast<const Stored*>(operands[count])[at]);
        ++count;
      }
      for (const Step<Number>& step : steps) {
        Number exact = step.formula(values[size_t(step.a)], values[size_t(step.b)]);
        values[count++] = Form::number(Form::stored(exact));
      }
      static_cast<Stored*>(result)[i] = Form::stored(values[count - 1]);
    }
  };
}

ProgramKernel make_program(const NodeContext& context) {
  switch (context.output(0).dtype) {
    case DType::F64:
      return make_program_in<Full<double>>(context);
    case DType::F16:
      return make_program_in<Half>(context);
    case DType::BF16:
      return make_program_in<BFloat16>(context);
    default:
      return make_program_in<Full<float>>(context);
  }
}

constexpr ComposedParts kParts = {.implementations = reference_implementations,
                                  .make_program = make_program};
constexpr ComposedParts kHalfParts = {.implementations = reference_implementations_with_half,
                                      .make_program = make_program};

template <const ComposedParts& parts>
Implementation composed(std::string_view name) {
  return {.name = name,
          .workspace_bytes =
              [](const NodeContext& context) { return composed_workspace_bytes(parts, context); },
          .make = [](const NodeContext& context) { return make_composed(parts, context); }};
}

// `whole` for fused, `form` for the fused forms.
std::vector<Row> rows_of(const Implementation& whole, const Implementation& form) {
  return {{OpKind::Fused, whole},
          {OpKind::Conv2dFused, form},
          {OpKind::MatMulFused, form},
          {OpKind::BatchNormFused, form},
          {OpKind::BatchNormInferenceFused, form}};
}

Implementation whole_implementation(std::string_view name) {
  return {.name = name,
          .make = [](const NodeContext& context) { return make_whole(kParts, context); }};
}

}  // namespace

std::vector<Row> fused_kernels() {
  Implementation whole = whole_implementation("reference"), form = composed<kParts>("reference");
  whole.refuse = form.refuse = refuse_other_floats;
  return rows_of(whole, form);
}

std::vector<Row> fused_half_kernels() {
  return rows_of(whole_implementation("reference_half"), composed<kHalfParts>("reference_half"));
}

}  // namespace pounce::reference
