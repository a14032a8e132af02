// Leaves of a step: constants, counters, flags and sums of whole tensors.
#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "backend/kernels/families.h"
#include "base/error.h"

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
    case DType::I64:
      return int64_t(value);
    case DType::I32:
      return bits_of(int32_t(value));
    case DType::U8:
      return bits_of(uint8_t(value));
    default:
      fail(ErrorKind::Internal, "fill of {}", dtype_name(dtype));
  }
}

bool is_half(DType dtype) {
  return dtype == DType::F16 || dtype == DType::BF16;
}

std::vector<Launch> launch_fill(const NodeContext& context) {
  const TensorType& y = context.output(0);
  double value = context.node.attributes.number("value");
  int64_t count = y.shape.elements();
  Launch launch{.groups = {groups_for(count, kElementsAGroup), 1, 1}, .items = kItems};
  if (is_half(y.dtype)) {
    launch.program = {"image", {{"Y_TYPE", storage(y.dtype)}}};
    launch.entry = "fill";
    launch.arguments = {output(0), float(value), count};
  } else {
    launch.program = {"layout", {{"ELEMENT", element_of(int64_t(dtype_bytes(y.dtype)))}}};
    launch.entry = "fill";
    launch.arguments = {output(0), fill_bits(y.dtype, value), count};
  }
  return {launch};
}

std::vector<Launch> launch_lookup(const NodeContext& context) {
  const TensorType& table = context.input(0);
  return {{.program = {"layout", {{"ELEMENT", element_of(int64_t(dtype_bytes(table.dtype)))}}},
           .entry = "lookup",
           .arguments = {input(0), input(1), output(0), table.shape.elements() - 1},
           .items = kItems}};
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

}  // namespace

std::vector<Row> control_kernels() {
  return {
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
