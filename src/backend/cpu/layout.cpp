// Moves of elements, whatever their type: runs of bytes that lie together, shared out over threads.
#include <cstring>

#include "backend/cpu/kernels.h"
#include "backend/cpu/parallel.h"
#include "ir/layout_params.h"

namespace pounce::cpu {
namespace {

constexpr int64_t kGrainBytes = 4 * kElementwiseGrain;

int64_t element_bytes(const NodeContext& context) {
  return int64_t(dtype_bytes(context.output(0).dtype));
}

// f(first, end) over lines of `bytes` each.
template <typename F>
void for_lines(const KernelArguments& arguments, int64_t lines, int64_t bytes, const F& f) {
  int64_t grain = std::max<int64_t>(kGrainBytes / std::max<int64_t>(bytes, 1), 1);
  parallel_pieces(arguments.threads, lines, grain, f);
}

HostKernel make_reshape(const NodeContext& context) {
  int64_t bytes = context.input(0).bytes();
  return [=](const KernelArguments& arguments) {
    const char* x = arguments.input<char>(0);
    char* y = arguments.output<char>(0);
    if (x == y) return;
    parallel_pieces(arguments.threads, bytes, kGrainBytes, [&](int64_t first, int64_t end) {
      std::memcpy(y + first, x + first, size_t(end - first));
    });
  };
}

// `count` elements of T, `step` elements apart.
template <typename T>
void gather_row(const char* x, int64_t step, int64_t count, char* y) {
  const T* from = reinterpret_cast<const T*>(x);
  T* to = reinterpret_cast<T*>(y);
  for (int64_t i = 0; i < count; ++i) to[i] = from[i * step];
}

void gather_row(const char* x, int64_t step, int64_t count, int64_t bytes, char* y) {
  if (step == 1) {
    std::memcpy(y, x, size_t(count * bytes));
  } else if (bytes == 8) {
    gather_row<uint64_t>(x, step, count, y);
  } else if (bytes == 4) {
    gather_row<uint32_t>(x, step, count, y);
  } else if (bytes == 2) {
    gather_row<uint16_t>(x, step, count, y);
  } else {
    gather_row<uint8_t>(x, step, count, y);
  }
}

// A walk over y whose operand a is x.
HostKernel make_gather(const NodeContext& context, const StridedWalk& walk) {
  int64_t bytes = element_bytes(context);
  int64_t elements = context.output(0).shape.elements();
  int64_t rows = elements == 0 ? 0 : elements / walk.inner();
  return [=](const KernelArguments& arguments) {
    int64_t row_bytes = walk.inner() * bytes;
    for_lines(arguments, rows, row_bytes, [&](int64_t first, int64_t end) {
      for (int64_t row = first; row < end; ++row) {
        gather_row(arguments.input<char>(0) + walk.row_offsets(row).a * bytes, walk.inner_a(),
                   walk.inner(), bytes, arguments.output<char>(0) + row * row_bytes);
      }
    });
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
  int64_t start = attributes.integer("start") * line, size = attributes.integer("size") * line;
  return [=](const KernelArguments& arguments) {
    if (size == 0) return;
    for_lines(arguments, view.outer, size, [&](int64_t first, int64_t end) {
      for (int64_t i = first; i < end; ++i) {
        std::memcpy(arguments.output<char>(0) + i * size,
                    arguments.input<char>(0) + i * view.extent * line + start, size_t(size));
      }
    });
  };
}

HostKernel make_pad(const NodeContext& context) {
  const Attributes& attributes = context.node.attributes;
  AxisView view = axis_view(context.input(0).shape, attributes.integer("axis"));
  int64_t line = view.inner * element_bytes(context);
  int64_t size = view.extent * line;
  int64_t before = attributes.integer("before") * line, after = attributes.integer("after") * line;
  return [=](const KernelArguments& arguments) {
    for_lines(arguments, view.outer, before + size + after, [&](int64_t first, int64_t end) {
      for (int64_t i = first; i < end; ++i) {
        char* y = arguments.output<char>(0) + i * (before + size + after);
        if (before != 0) std::memset(y, 0, size_t(before));
        if (size != 0) std::memcpy(y + before, arguments.input<char>(0) + i * size, size_t(size));
        if (after != 0) std::memset(y + before + size, 0, size_t(after));
      }
    });
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
    for_lines(arguments, view.outer, view.extent * line, [&](int64_t first, int64_t end) {
      for (int64_t i = first; i < end; ++i) {
        char* y = arguments.output<char>(0) + i * view.extent * line;
        for (size_t part = 0; part < sizes.size(); ++part) {
          if (sizes[part] == 0) continue;
          std::memcpy(y, arguments.input<char>(part) + i * sizes[part], size_t(sizes[part]));
          y += sizes[part];
        }
      }
    });
  };
}

}  // namespace

std::vector<Row> layout_kernels() {
  auto row = [](OpKind op, HostKernel (*make)(const NodeContext&)) {
    return Row{op, {.name = "parallel", .make = make}};
  };
  return {
      row(OpKind::Reshape, make_reshape), row(OpKind::Transpose, make_transpose),
      row(OpKind::Slice, make_slice),     row(OpKind::Pad, make_pad),
      row(OpKind::Concat, make_concat),   row(OpKind::Broadcast, make_broadcast),
  };
}

}  // namespace pounce::cpu
