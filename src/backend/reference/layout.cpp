// Elements are moved, whatever their type: by the byte.
#include <cstring>

#include "backend/reference/families.h"
#include "ir/layout_params.h"

namespace pounce::reference {
namespace {

// x and y may be the same, and null where they are empty.
void copy_bytes(void* y, const void* x, int64_t bytes) {
  if (bytes != 0 && y != x) std::memcpy(y, x, size_t(bytes));
}

int64_t element_bytes(const NodeContext& context) {
  return int64_t(dtype_bytes(context.output(0).dtype));
}

HostKernel make_reshape(const NodeContext& context) {
  int64_t bytes = context.input(0).bytes();
  return [=](const KernelArguments& arguments) {
    copy_bytes(arguments.outputs[0], arguments.inputs[0], bytes);
  };
}

// Element by element along a walk over y whose operand a is x.
HostKernel make_gather(const NodeContext& context, const StridedWalk& walk) {
  int64_t bytes = element_bytes(context);
  int64_t elements = context.output(0).shape.elements();
  int64_t rows = elements == 0 ? 0 : elements / walk.inner();
  return [=](const KernelArguments& arguments) {
    char* y = arguments.output<char>(0);
    for (int64_t row = 0; row < rows; ++row) {
      const char* x = arguments.input<char>(0) + walk.row_offsets(row).a * bytes;
      for (int64_t i = 0; i < walk.inner(); ++i, y += bytes) {
        std::memcpy(y, x + i * walk.inner_a() * bytes, size_t(bytes));
      }
    }
  };
}

HostKernel make_transpose(const NodeContext& context) {
  return make_gather(context, transpose_walk(context.graph, context.node));
}

HostKernel make_broadcast(const NodeContext& context) {
  const Shape& x = context.input(0).shape;
  return make_gather(context, broadcast_walk(context.output(0).shape, x, x));
}

HostKernel make_slice(const NodeContext& context) {
  const Attributes& attributes = context.node.attributes;
  AxisView view = axis_view(context.input(0).shape, attributes.integer("axis"));
  int64_t line = view.inner * element_bytes(context);
  int64_t start = attributes.integer("start"), size = attributes.integer("size");
  return [=](const KernelArguments& arguments) {
    for (int64_t i = 0; i < view.outer; ++i) {
      copy_bytes(arguments.output<char>(0) + i * size * line,
                 arguments.input<char>(0) + (i * view.extent + start) * line, size * line);
    }
  };
}

HostKernel make_pad(const NodeContext& context) {
  int64_t axis = context.node.attributes.integer("axis");
  AxisView view = axis_view(context.input(0).shape, axis);
  int64_t line = view.inner * element_bytes(context);
  int64_t extent = context.output(0).shape[int(axis)];
  int64_t before = context.node.attributes.integer("before");
  size_t bytes = size_t(context.output(0).bytes());
  return [=](const KernelArguments& arguments) {
    char* y = arguments.output<char>(0);
    if (bytes != 0) std::memset(y, 0, bytes);
    for (int64_t i = 0; i < view.outer; ++i) {
      copy_bytes(y + (i * extent + before) * line,
                 arguments.input<char>(0) + i * view.extent * line, view.extent * line);
    }
  };
}

HostKernel make_concat(const NodeContext& context) {
  int64_t axis = context.node.attributes.integer("axis");
  AxisView view = axis_view(context.output(0).shape, axis);
  int64_t line = view.inner * element_bytes(context);
  std::vector<int64_t> sizes;
  for (size_t i = 0; i < context.node.inputs.size(); ++i) {
    sizes.push_back(context.input(i).shape[int(axis)] * line);
  }
  return [=](const KernelArguments& arguments) {
    char* y = arguments.output<char>(0);
    for (int64_t i = 0; i < view.outer; ++i) {
      for (size_t part = 0; part < sizes.size(); ++part) {
        copy_bytes(y, arguments.input<char>(part) + i * sizes[part], sizes[part]);
        y += sizes[part];
      }
    }
  };
}

}  // namespace

std::vector<Row> layout_kernels() {
  auto row = [](OpKind op, MakeKernel make) {
    return Row{op, {.name = "reference", .make = make}};
  };
  return {
      row(OpKind::Reshape, make_reshape), row(OpKind::Transpose, make_transpose),
      row(OpKind::Slice, make_slice),     row(OpKind::Pad, make_pad),
      row(OpKind::Concat, make_concat),   row(OpKind::Broadcast, make_broadcast),
  };
}

}  // namespace pounce::reference
