#include "ir/broadcast.h"
#include "ir/ops/families.h"

namespace pounce {
namespace {

std::vector<TensorType> infer_elementwise(const InferInput& in) {
  for (const TensorType& type : in.inputs) expect_floating(type, "an input");
  if (in.inputs.size() == 2 && in.inputs[0] != in.inputs[1]) {
    fail(ErrorKind::InvalidArgument, "a is {}, b is {}, expected equal shapes",
         to_string(in.inputs[0]), to_string(in.inputs[1]));
  }
  return {in.inputs[0]};
}

std::vector<TensorType> infer_arithmetic(const InferInput& in) {
  const TensorType &a = in.inputs[0], &b = in.inputs[1];
  expect_floating(a, "a");
  std::optional<Shape> shape = broadcast_shapes(a.shape, b.shape);
  if (a.dtype != b.dtype || !shape) {
    fail(ErrorKind::InvalidArgument,
         "a is {}, b is {}: expected one type, and axes, counted from the last, that are equal or "
         "1 to broadcast",
         to_string(a), to_string(b));
  }
  return {{a.dtype, *shape}};
}

// Steep or of a wide range: a half rounds them too much.
bool stays_wide(OpKind op) {
  return op == OpKind::Exp || op == OpKind::Log || op == OpKind::Sqrt || op == OpKind::SqrtBwd ||
         op == OpKind::Rsqrt || op == OpKind::RsqrtBwd;
}

OpInfo row(OpKind kind, std::string_view name, int inputs, std::string_view formula) {
  OpInfo info{.kind = kind,
              .name = name,
              .inputs = {"a"},
              .outputs = {"y"},
              .attributes = {},
              .infer = infer_elementwise,
              .in_place = {{0, 0}},
              .formula = formula,
              .half_operands = inputs,
              .autocast = stays_wide(kind) ? Autocast::Keep : Autocast::Follow};
  if (inputs == 2) {
    info.inputs.push_back("b");
    info.in_place.push_back({0, 1});
  }
  // Only an input as large as the output is written over, and that one is not repeated.
  if (is_broadcast_arithmetic(kind)) info.infer = infer_arithmetic;
  return info;
}

}  // namespace

std::vector<OpInfo> elementwise_ops() {
  return {
#define POUNCE_ELEMENTWISE(kind, name, inputs, formula) row(OpKind::kind, name, inputs, #formula),
#include "ir/elementwise.def"
#undef POUNCE_ELEMENTWISE
  };
}

}  // namespace pounce
