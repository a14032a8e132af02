#include "ir/ops/families.h"

namespace pounce {
namespace {

DType dtype_of(const Attributes& attributes) {
  auto dtype = parse_dtype(attributes.text("dtype"));
  if (!dtype) {
    fail(ErrorKind::InvalidArgument, "unknown dtype \"{}\"", attributes.text("dtype"));
  }
  return *dtype;
}

std::vector<TensorType> infer_fill(const InferInput& in) {
  return {{dtype_of(in.attributes), Shape(in.attributes.integers("shape"))}};
}

std::vector<TensorType> infer_cast(const InferInput& in) {
  expect_floating(in.inputs[0], "x");
  TensorType y{dtype_of(in.attributes), in.inputs[0].shape};
  expect_floating(y, "y");
  return {y};
}

std::vector<TensorType> infer_select(const InferInput& in) {
  expect_type(in.inputs[0], "flag", kStopFlag);
  expect_type(in.inputs[2], "clear", in.inputs[1]);
  return {in.inputs[1]};
}

std::vector<TensorType> infer_same(const InferInput& in) {
  return {in.inputs[0]};
}

std::vector<TensorType> infer_increment(const InferInput& in) {
  expect_dtype(in.inputs[0], "x", DType::I64);
  expect_rank(in.inputs[0], "x", 0);
  expect_type(in.inputs[1], "stop", kStopFlag);
  return {in.inputs[0]};
}

std::vector<TensorType> infer_lookup(const InferInput& in) {
  expect_rank(in.inputs[0], "table", 1);
  expect_type(in.inputs[1], "index", kScalarI64);
  if (in.inputs[0].shape.elements() == 0) fail(ErrorKind::InvalidArgument, "the table is empty");
  return {{in.inputs[0].dtype, {}}};
}

std::vector<TensorType> infer_check_finite(const InferInput& in) {
  expect_floating(in.inputs[0], "x");
  expect_type(in.inputs[1], "stop", kStopFlag);
  return {kStopFlag};
}

}  // namespace

std::vector<OpInfo> control_ops() {
  return {
      {.kind = OpKind::Input,
       .name = "input",
       .inputs = {},
       .outputs = {"y"},
       .attributes = {},
       .infer = nullptr,
       .mergeable = false},
      {.kind = OpKind::Variable,
       .name = "variable",
       .inputs = {},
       .outputs = {"y"},
       .attributes = {{"role", AttributeType::Text, {}}},
       .infer = nullptr,
       .mergeable = false},
      // Every element is `value`. Cheaper made twice than kept alive and copied.
      {.kind = OpKind::Fill,
       .name = "fill",
       .inputs = {},
       .outputs = {"y"},
       .attributes = {{"value", AttributeType::Float, {}},
                      {"shape", AttributeType::Ints, {}},
                      {"dtype", AttributeType::Text, AttributeValue(std::string("f32"))}},
       .infer = infer_fill,
       .mergeable = false,
       .autocast = Autocast::Source},
      {.kind = OpKind::Copy,
       .name = "copy",
       .inputs = {"x"},
       .outputs = {"y"},
       .attributes = {},
       .infer = infer_same,
       .mergeable = false,
       .half_operands = 1,
       .autocast = Autocast::Follow},
      // To another floating type; to the nearest number, ties to even. Cheaper made twice than kept
      // alive: mixed precision casts a weight anew for each of its readers.
      {.kind = OpKind::Cast,
       .name = "cast",
       .inputs = {"x"},
       .outputs = {"y"},
       .attributes = {{"dtype", AttributeType::Text, {}}},
       .infer = infer_cast,
       .mergeable = false,
       .half_operands = 1},
      // `set` where the flag is set, else `clear`.
      {.kind = OpKind::Select,
       .name = "select",
       .inputs = {"flag", "set", "clear"},
       .outputs = {"y"},
       .attributes = {},
       .infer = infer_select,
       .in_place = {{0, 1}, {0, 2}}},
      // x + 1 unless the stop flag is set.
      {.kind = OpKind::Increment,
       .name = "increment",
       .inputs = {"x", "stop"},
       .outputs = {"y"},
       .attributes = {},
       .infer = infer_increment,
       .in_place = {{0, 0}}},
      // table[index], the last entry beyond the end: a learning rate by the count of updates.
      {.kind = OpKind::Lookup,
       .name = "lookup",
       .inputs = {"table", "index"},
       .outputs = {"y"},
       .attributes = {},
       .infer = infer_lookup},
      // A sticky flag: the first non-finite element found by any check of the run.
      {.kind = OpKind::CheckFinite,
       .name = "check_finite",
       .inputs = {"x", "stop"},
       .outputs = {"stop"},
       .attributes = {{"tag", AttributeType::Int, {}}},
       .infer = infer_check_finite,
       .in_place = {{0, 1}},
       .half_operands = 1},
      // Sum over all ranks of the communicator.
      {.kind = OpKind::AllReduce,
       .name = "all_reduce",
       .inputs = {"x"},
       .outputs = {"y"},
       .attributes = {},
       .infer = infer_same,
       .in_place = {{0, 0}},
       .mergeable = false},
  };
}

}  // namespace pounce
