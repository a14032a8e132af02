// Sums, means and maxima over any axes, in one launch of reduce.k or, where many elements make one
// result, in two.
#include "backend/kernels/reduce.h"

#include <algorithm>

#include <fmt/format.h>

#include "backend/kernels/elementwise.h"
#include "backend/kernels/families.h"
#include "backend/kernels/walk.h"
#include "base/error.h"
#include "ir/layout_params.h"

namespace pounce::kernels {
namespace {

// Up to 3 axes, the slowest first; missing ones are 1 long. Neighbours that belong together are
// merged: kept and reduced axes of a tensor of 6 alternate at most so often.
struct Axes {
  int64_t extents[3] = {1, 1, 1};
  int64_t strides[3] = {};

  explicit Axes(const OperandWalk& walk) {
    POUNCE_ASSERT(walk.rank() <= 3);
    for (size_t i = 0; i < walk.rank(); ++i) {
      extents[3 - walk.rank() + i] = walk.extents[i];
      strides[3 - walk.rank() + i] = walk.strides[0][i];
    }
  }
  Axes(int64_t extent, int64_t stride) : extents{1, 1, extent}, strides{0, 0, stride} {}

  int64_t count() const { return extents[0] * extents[1] * extents[2]; }
};

// The axes of `shape` that are in `axes`, or the others, with their strides in the tensor.
Axes chosen_axes(const Shape& shape, const std::vector<int64_t>& axes, bool reduced) {
  std::vector<int64_t> all = contiguous_strides(shape), extents, strides;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    bool is_reduced = std::find(axes.begin(), axes.end(), axis) != axes.end();
    if (is_reduced != reduced) continue;
    extents.push_back(shape[axis]);
    strides.push_back(all[size_t(axis)]);
  }
  return Axes(OperandWalk(Shape(extents), {strides}));
}

struct Reduction {
  Reduction(const Shape& shape, const std::vector<int64_t>& axes)
      : Reduction(chosen_axes(shape, axes, false), chosen_axes(shape, axes, true)) {
    bool in_rows = reduced.strides[2] == 1;
    if (in_rows && reduced.count() > 64) width = 1;
  }
  // Results are neighbours in memory.
  Reduction(Axes kept_axes, Axes reduced_axes)
      : kept(kept_axes), reduced(reduced_axes), width(reduced.count() <= 8 ? kItems : 32) {}

  // Elements that one group adds: not so few that the parts exceed a grid.
  int64_t chunk() const {
    return std::max<int64_t>(64 * kItems / width, groups_for(reduced.count(), 32768));
  }
  int64_t parts() const { return std::max<int64_t>(1, groups_for(reduced.count(), chunk())); }

  Axes kept, reduced;
  // Results a group: side by side where they are neighbours in memory, and few items for few
  // elements. By the reduced axes and the layout, never by the number of results, so that a
  // sample's result does not depend on its batch.
  int64_t width;
};

// Of [part][result].
Reduction of_parts(int64_t parts, int64_t results) {
  return {Axes(results, 1), Axes(parts, results)};
}

// What is made of the elements.
struct Operation {
  const char* combine = "SUM";
  const char* start = "0";
  bool ties = false;  // counts them; the second operand is `best`
  double divisor = 1;
};

struct ReduceOperand {
  Operand operand;
  DType dtype;
};

Launch reduce_launch(const Reduction& r, const Operation& operation,
                     const std::vector<ReduceOperand>& from, ReduceOperand to, int64_t parts) {
  Launch launch{.program = {"reduce",
                            {{"X_TYPE", storage(from[0].dtype)},
                             {"Y_TYPE", storage(to.dtype)},
                             {"COMBINE", operation.combine},
                             {"START", operation.start},
                             {"WIDTH", fmt::format("{}", r.width)}}},
                .entry = "reduce",
                .groups = {groups_for(r.kept.count(), r.width), parts, 1},
                .items = kItems};
  if (operation.ties) launch.program.defines.emplace_back("TIES", "1");
  for (const ReduceOperand& operand : from) launch.arguments.emplace_back(operand.operand);
  launch.arguments.emplace_back(to.operand);
  auto append = [&](const Axes& axes) {
    for (int i : {1, 2}) launch.arguments.emplace_back(axes.extents[i]);
    for (int64_t stride : axes.strides) launch.arguments.emplace_back(stride);
  };
  launch.arguments.emplace_back(r.kept.count());
  append(r.kept);
  launch.arguments.emplace_back(r.reduced.count());
  launch.arguments.emplace_back(parts == 1 ? std::max<int64_t>(1, r.reduced.count()) : r.chunk());
  append(r.reduced);
  launch.arguments.emplace_back(float(operation.divisor));
  return launch;
}

// Bytes of the parts of a reduction in two launches; 0 for one.
size_t part_bytes(const Reduction& r, const Target& target) {
  if (r.parts() == 1) return 0;
  Sections sections(target);
  sections.add(r.parts() * r.kept.count(), sizeof(float));
  return sections.bytes();
}

// `scratch`: of part_bytes.
std::vector<Launch> reduce(const Reduction& r, const Operation& operation,
                           const std::vector<ReduceOperand>& from, ReduceOperand to,
                           Operand scratch) {
  int64_t parts = r.parts(), results = r.kept.count();
  if (parts == 1) return {reduce_launch(r, operation, from, to, 1)};
  Operation first = operation, second = operation;
  first.divisor = 1, second.ties = false;
  ReduceOperand partial{scratch, DType::F32};
  return {reduce_launch(r, first, from, partial, parts),
          reduce_launch(of_parts(parts, results), second, {partial}, to, 1)};
}

Reduction reduction_of(const NodeContext& context) {
  const Node& node = context.node;
  switch (node.op) {
    case OpKind::BiasBwd:
      return {context.input(0).shape, {0}};
    case OpKind::GlobalAvgPool:
      return {context.input(0).shape, {1, 2}};
    case OpKind::ReduceMaxBwd:
      return {context.input(1).shape, node.attributes.integers("axes")};
    default:
      return {context.input(0).shape, node.attributes.integers("axes")};
  }
}

size_t reduce_workspace(const NodeContext& context) {
  return part_bytes(reduction_of(context), context.target);
}

std::vector<Launch> launch_reduce(const NodeContext& context) {
  Reduction r = reduction_of(context);
  OpKind op = context.node.op;
  Operation operation;
  if (op == OpKind::ReduceMax) {
    operation = {.combine = "LARGER_OR_NAN", .start = "(-POSITIVE_INFINITY)"};
  } else if (op == OpKind::ReduceMean || op == OpKind::GlobalAvgPool) {
    operation.divisor = double(r.reduced.count());
  }
  Operand scratch = Sections(context.target).add(0, 1);
  return reduce(r, operation, {{input(0), context.input(0).dtype}},
                {output(0), context.output(0).dtype}, scratch);
}

// Ties of every maximum, and behind them the parts of their count.
struct TiesScratch {
  explicit TiesScratch(const NodeContext& context) : sections(context.target) {
    Reduction r = reduction_of(context);
    ties = sections.add(r.kept.count(), sizeof(float));
    parts = sections.add(r.parts() == 1 ? 0 : r.parts() * r.kept.count(), sizeof(float));
  }

  Sections sections;
  Operand ties, parts;
};

size_t ties_workspace(const NodeContext& context) {
  return TiesScratch(context).sections.bytes();
}

// Strides of the axes of x in a tensor of its results: 0 along reduced axes.
std::vector<int64_t> result_strides(const Shape& x, const std::vector<int64_t>& axes) {
  return broadcast_strides(x, reduced_shape(x, axes, true));
}

std::vector<Launch> launch_max_bwd(const NodeContext& context) {
  const TensorType &grad = context.input(0), &x = context.input(1), &y = context.input(2);
  TiesScratch scratch(context);
  std::vector<Launch> launches =
      reduce(reduction_of(context), {.ties = true}, {{input(1), x.dtype}, {input(2), y.dtype}},
             {scratch.ties, DType::F32}, scratch.parts);
  std::vector<int64_t> own = contiguous_strides(x.shape);
  std::vector<int64_t> repeated = result_strides(x.shape, context.node.attributes.integers("axes"));
  launches.push_back(elementwise_launch({output(0), x, own},
                                        {{input(0), grad, repeated},
                                         {input(1), x, own},
                                         {input(2), y, repeated},
                                         {scratch.ties, {DType::F32, y.shape}, repeated}},
                                        "y = x1 == x2 ? x0 / x3 : 0;"));
  return launches;
}

}  // namespace

Launch sum_parts(Operand from, int64_t parts, int64_t results, Operand to, DType dtype) {
  return reduce_launch(of_parts(parts, results), {}, {{from, DType::F32}}, {to, dtype}, 1);
}

std::vector<Row> reduce_kernels() {
  std::vector<Row> rows;
  for (OpKind op : {OpKind::ReduceSum, OpKind::ReduceMean, OpKind::ReduceMax, OpKind::BiasBwd,
                    OpKind::GlobalAvgPool}) {
    rows.push_back({op,
                    {.name = "reduce",
                     .refuse = refuse_f64,
                     .workspace_bytes = reduce_workspace,
                     .launches = launch_reduce}});
  }
  rows.push_back({OpKind::ReduceMaxBwd,
                  {.name = "reduce",
                   .refuse = refuse_f64,
                   .workspace_bytes = ties_workspace,
                   .launches = launch_max_bwd}});
  return rows;
}

}  // namespace pounce::kernels
