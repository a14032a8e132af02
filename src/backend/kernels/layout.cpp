// Elements are moved, whatever their type.
#include <numeric>

#include <fmt/format.h>

#include "backend/kernels/families.h"
#include "backend/kernels/walk.h"
#include "ir/layout_params.h"

namespace pounce::kernels {
namespace {

int64_t element_bytes(const NodeContext& context) {
  return int64_t(dtype_bytes(context.output(0).dtype));
}

// Bytes of the widest integer of which all numbers of bytes are multiples.
int64_t common_width(std::initializer_list<int64_t> bytes) {
  int64_t width = 8;
  for (int64_t number : bytes) width = std::gcd(width, number);
  return width;
}

Launch moving_launch(const char* entry, int64_t width, int64_t count) {
  return {.program = {"layout", {{"ELEMENT", element_of(width)}}},
          .entry = entry,
          .groups = {groups_for(count, kElementsAGroup), 1, 1},
          .items = kItems};
}

std::vector<Launch> launch_copy(const NodeContext& context) {
  int64_t bytes = context.output(0).bytes(), width = common_width({bytes});
  Launch launch = moving_launch("copy", width, bytes / width);
  launch.arguments = {input(0), output(0), bytes / width};
  return {launch};
}

// Lines in bytes, one an index of the axes before `axis`.
struct Lines {
  int64_t line, x_start, x_stride, y_start, y_stride, bytes;
};

Launch copy_lines(Operand x, Operand y, const Lines& lines) {
  int64_t width =
      common_width({lines.line, lines.x_start, lines.x_stride, lines.y_start, lines.y_stride});
  Launch launch = moving_launch("copy_lines", width, lines.bytes / width);
  launch.arguments = {x,
                      y,
                      lines.line / width,
                      lines.x_start / width,
                      lines.x_stride / width,
                      lines.y_start / width,
                      lines.y_stride / width,
                      lines.bytes / width};
  return launch;
}

std::vector<Launch> launch_slice(const NodeContext& context) {
  const Attributes& attributes = context.node.attributes;
  AxisView view = axis_view(context.input(0).shape, attributes.integer("axis"));
  int64_t entry = view.inner * element_bytes(context), size = attributes.integer("size");
  return {copy_lines(input(0), output(0),
                     {.line = size * entry,
                      .x_start = attributes.integer("start") * entry,
                      .x_stride = view.extent * entry,
                      .y_start = 0,
                      .y_stride = size * entry,
                      .bytes = context.output(0).bytes()})};
}

std::vector<Launch> launch_concat(const NodeContext& context) {
  int64_t axis = context.node.attributes.integer("axis");
  AxisView view = axis_view(context.output(0).shape, axis);
  int64_t entry = view.inner * element_bytes(context), start = 0;
  std::vector<Launch> launches;
  for (size_t i = 0; i < context.node.inputs.size(); ++i) {
    int64_t line = context.input(i).shape[int(axis)] * entry;
    launches.push_back(copy_lines(input(i), output(0),
                                  {.line = line,
                                   .x_start = 0,
                                   .x_stride = line,
                                   .y_start = start,
                                   .y_stride = view.extent * entry,
                                   .bytes = context.input(i).bytes()}));
    start += line;
  }
  return launches;
}

std::vector<Launch> launch_pad(const NodeContext& context) {
  int64_t axis = context.node.attributes.integer("axis");
  AxisView view = axis_view(context.input(0).shape, axis);
  int64_t entry = view.inner * element_bytes(context);
  int64_t x_line = view.extent * entry, y_line = context.output(0).shape[int(axis)] * entry;
  int64_t before = context.node.attributes.integer("before") * entry;
  int64_t width = common_width({x_line, y_line, before}), count = context.output(0).bytes() / width;
  Launch launch = moving_launch("pad", width, count);
  launch.arguments = {input(0), output(0), x_line / width, y_line / width, before / width, count};
  return {launch};
}

// `strides`: of y's axes, in x.
std::vector<Launch> gather(const NodeContext& context, const std::vector<int64_t>& strides) {
  OperandWalk walk(context.output(0).shape, {strides});
  if (walk.is_flat()) return launch_copy(context);
  int64_t count = context.output(0).shape.elements();
  IndexType index(std::max(count, context.input(0).shape.elements()));
  Launch launch = moving_launch("gather", element_bytes(context), count);
  launch.program.defines.emplace_back("RANK", fmt::format("{}", walk.rank()));
  launch.program.defines.emplace_back("INDEX", index.name());
  launch.arguments = {input(0), output(0), index(count)};
  for (size_t axis = 0; axis < walk.rank(); ++axis) {
    if (axis > 0) launch.arguments.push_back(index(walk.extents[axis]));
    launch.arguments.push_back(index(walk.strides[0][axis]));
  }
  return {launch};
}

std::vector<Launch> launch_transpose(const NodeContext& context) {
  std::vector<int64_t> of_x = contiguous_strides(context.input(0).shape), strides;
  for (int64_t axis : context.node.attributes.integers("permutation")) {
    strides.push_back(of_x[size_t(axis)]);
  }
  return gather(context, strides);
}

std::vector<Launch> launch_broadcast(const NodeContext& context) {
  return gather(context, broadcast_strides(context.output(0).shape, context.input(0).shape));
}

}  // namespace

std::vector<Row> layout_kernels() {
  auto row = [](OpKind op, std::string_view name,
                std::vector<Launch> (*launches)(const NodeContext&)) {
    return Row{op, {.name = name, .launches = launches}};
  };
  return {
      row(OpKind::Reshape, kCopy, launch_copy),
      row(OpKind::Copy, kCopy, launch_copy),
      row(OpKind::AllReduce, kCopy, launch_copy),
      row(OpKind::Transpose, "gather", launch_transpose),
      row(OpKind::Slice, "lines", launch_slice),
      row(OpKind::Pad, "lines", launch_pad),
      row(OpKind::Concat, "lines", launch_concat),
      row(OpKind::Broadcast, "gather", launch_broadcast),
  };
}

}  // namespace pounce::kernels
