// Every op of the table over odd shapes, as data: the rows that reference gradients and all other
// backends are tested with. An input or output carries the name the op table gives it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/run_graph.h"
#include "ir/graph.h"

namespace pounce {

// How an input is filled.
enum class FillRule : uint8_t {
  Uniform,       // in [low, high)
  AwayFromZero,  // as Uniform with a random sign; for 0 < low
  WithZeros,     // as Uniform, every third element 0
  Distinct,      // multiples of (high - low) / elements in random order: no near ties
  Integers,      // in [low, high)
  PoolPosition,  // a random place inside the image for each window of max_pool_bwd
  Infinities,    // as Uniform, every third element of the second half infinite
};

struct CaseInput {
  Shape shape;
  FillRule rule = FillRule::Uniform;
  double low = -1;
  double high = 1;
  std::optional<DType> dtype = {};  // none: the floating type the case is built for
};

struct OpCase {
  std::string name;
  OpKind op;
  std::vector<CaseInput> inputs;
  Attributes attributes = {};
  // Against the reference in f32, by relative_error; integers are always compared exactly.
  double tolerance = 1e-5;
  // By index: outputs with a gradient, and the inputs it reaches. Empty: not differentiable.
  std::vector<size_t> differentiable_outputs = {};
  std::vector<size_t> differentiable_inputs = {};
};

// Names are unique and made of letters, digits and underscores. Ordered by op.
std::span<const OpCase> op_cases();

// Part of op_cases: arithmetic that broadcasts, unary formulas, layout, reductions, layer
// normalisation and average pooling.
std::vector<OpCase> more_op_cases();
// Ops with a program of elementwise ops.
std::vector<OpCase> fused_op_cases();

// Part of op_cases: casts, selection, the loss scale, largest magnitudes.
std::vector<OpCase> precision_op_cases();

// Not of op_cases. Built for F32 alone: those that make a half of what is none, and products of
// halves in F32.
std::span<const OpCase> narrowing_cases();

// Whether the case has a form in f16 and bf16.
bool has_half_form(const OpCase& op_case);

// One node of the case between graph inputs and outputs, for F64, F32, F16 or BF16; in the last
// two, operands that the op table keeps wide are F32. With `copy_inputs` the node reads copies that
// die there, so that a plan puts it in place wherever that is allowed.
Graph build_case(const OpCase& op_case, DType floating, bool copy_inputs = false);

// Data for the inputs, the same at every call.
Tensors case_inputs(const OpCase& op_case, DType floating);

}  // namespace pounce
