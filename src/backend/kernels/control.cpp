// Leaves of a step: constants, counters, flags and sums of whole tensors.
#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "backend/kernels/families.h"
#include "base/error.h"
#include "base/half.h"

namespace pounce::kernels {
namespace {

template <typename T>
int64_t bits_of(T value) {
  int64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}

// `value` as an element of the type, in the low bytes.
int64_t fill_bits(DType dtype, double value) {
  switch (dtype) {
    case DType::F64:
      return bits_of(value);
    case DType::F32:
      return bits_of(float(value));
    case DType::F16:
      return half_from_float(float(value));
    case DType::BF16:
      return bfloat16_from_float(float(value));
    case DType::I64:
      return int64_t(value);
    case DType::I32:
      return bits_of(int32_t(value));
    case DType::U8:
      return bits_of(uint8_t(value));
  }
  fail(ErrorKind::Internal, "fill of a type without a name");
}

Launch moving_launch(const char* entry, DType dtype, int64_t count) {
  return {.program = {"layout", {{"ELEMENT", element_of(int64_t(dtype_bytes(dtype)))}}},
          .entry = entry,
          .groups = {groups_for(count, kElementsAGroup), 1, 1},
          .items = kItems};
}

std::vector<Launch> launch_fill(const NodeContext& context) {
  const TensorType& y = context.output(0);
  int64_t bits = fill_bits(y.dtype, context.node.attributes.number("value"));
  Launch launch = moving_launch("fill", y.dtype, y.shape.elements());
  launch.arguments = {output(0), bits, y.shape.elements()};
  return {launch};
}

std::vector<Launch> launch_select(const NodeContext& context) {
  const TensorType& y = context.output(0);
  Launch launch = moving_launch("select_by", y.dtype, y.shape.elements());
  launch.arguments = {input(0), input(1), input(2), output(0), y.shape.elements()};
  return {launch};
}

std::vector<Launch> launch_lookup(const NodeContext& context) {
  const TensorType& table = context.input(0);
  Launch launch = moving_launch("lookup", table.dtype, 1);
  launch.arguments = {input(0), input(1), output(0), table.shape.elements() - 1};
  return {launch};
}

Launch scalar_launch(const char* entry, std::vector<Argument> arguments) {
  return {.program = {"control", {}}, .entry = entry, .arguments = std::move(arguments)};
}

std::vector<Launch> launch_increment(const NodeContext&) {
  return {scalar_launch("increment", {input(0), input(1), output(0)})};
}

std::vector<Launch> launch_clip_divisor(const NodeContext& context) {
  return {scalar_launch("clip_divisor", {input(0), input(1), output(0),
                                         float(context.node.attributes.number("max_norm"))})};
}

std::vector<Launch> launch_loss_scale(const NodeContext& context) {
  const Attributes& attributes = context.node.attributes;
  return {scalar_launch("loss_scale",
                        {input(0), input(1), input(2), input(3), output(0), output(1), output(2),
                         output(3), attributes.integer("growth_interval"),
                         float(attributes.number("least")), float(attributes.number("most"))})};
}

// How scan.k cuts a tensor: at most 1024 parts of at least 4096 elements.
struct Parts {
  explicit Parts(const TensorType& x)
      : count(x.shape.elements()),
        chunk(std::max<int64_t>(4096, groups_for(count, 1024))),
        parts(groups_for(count, chunk)) {}

  int64_t count, chunk, parts;
};

Launch scan_launch(const NodeContext& context, const char* entry, int64_t groups) {
  return {.program = {"scan", {{"X_TYPE", storage(context.input(0).dtype)}}},
          .entry = entry,
          .groups = {groups, 1, 1},
          .items = kItems};
}

template <typename T>
size_t parts_bytes(const NodeContext& context) {
  Sections sections(context.target);
  sections.add(Parts(context.input(0)).parts, sizeof(T));
  return sections.bytes();
}

std::vector<Launch> launch_check_finite(const NodeContext& context) {
  Parts p(context.input(0));
  Operand found = Sections(context.target).add(p.parts, sizeof(int64_t));
  Launch part = scan_launch(context, "check_finite_part", p.parts);
  part.arguments = {input(0), found, p.count, p.chunk};
  Launch end = scan_launch(context, "check_finite_end", 1);
  end.arguments = {found,   input(1), output(0),
                   p.parts, p.count,  context.node.attributes.integer("tag")};
  return {part, end};
}

std::vector<Launch> launch_sum_squares(const NodeContext& context) {
  Parts p(context.input(0));
  Operand partial = Sections(context.target).add(p.parts, sizeof(float));
  Launch part = scan_launch(context, "sum_squares_part", p.parts);
  part.arguments = {input(0), partial, p.count, p.chunk};
  Launch end = scan_launch(context, "sum_squares_end", 1);
  end.arguments = {partial, input(1), output(0), p.parts};
  return {part, end};
}

std::vector<Launch> launch_largest_magnitude(const NodeContext& context) {
  Parts p(context.input(0));
  Operand partial = Sections(context.target).add(p.parts, sizeof(float));
  Launch part = scan_launch(context, "largest_magnitude_part", p.parts);
  part.arguments = {input(0), partial, p.count, p.chunk};
  Launch end = scan_launch(context, "largest_magnitude_end", 1);
  end.arguments = {partial, output(0), p.parts};
  return {part, end};
}

}  // namespace

std::vector<Row> control_kernels() {
  return {
      {OpKind::Select, {.name = "select", .launches = launch_select}},
      {OpKind::LossScale, {.name = "scalar", .launches = launch_loss_scale}},
      {OpKind::LargestMagnitude,
       {.name = "scan",
        .refuse = refuse_f64,
        .workspace_bytes = parts_bytes<float>,
        .launches = launch_largest_magnitude}},
      {OpKind::Fill, {.name = "fill", .launches = launch_fill}},
      {OpKind::Lookup, {.name = "lookup", .launches = launch_lookup}},
      {OpKind::Increment, {.name = "scalar", .launches = launch_increment}},
      {OpKind::ClipDivisor, {.name = "scalar", .launches = launch_clip_divisor}},
      {OpKind::CheckFinite,
       {.name = "scan",
        .refuse = refuse_f64,
        .workspace_bytes = parts_bytes<int64_t>,
        .launches = launch_check_finite}},
      {OpKind::SumSquares,
       {.name = "scan",
        .refuse = refuse_f64,
        .workspace_bytes = parts_bytes<float>,
        .launches = launch_sum_squares}},
  };
}

}  // namespace pounce::kernels
