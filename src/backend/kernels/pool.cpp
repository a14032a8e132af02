#include <algorithm>

#include <fmt/format.h>

#include "backend/kernels/families.h"
#include "ir/conv_params.h"

namespace pounce::kernels {
namespace {

// x and y, or grad_y and grad_x, are input and output 0; `most`: elements of the larger.
Launch pool_launch(const NodeContext& context, const char* entry, const IndexType& index) {
  Launch launch{.program = {"pool",
                            {{"X_TYPE", storage(context.input(0).dtype)},
                             {"Y_TYPE", storage(context.output(0).dtype)},
                             {"INDEX", index.name()}}},
                .entry = entry,
                .items = kItems};
  launch.groups[0] = groups_for(context.output(0).shape.elements(), kItems);
  return launch;
}

IndexType index_type(const NodeContext& context) {
  return IndexType(std::max(context.input(0).shape.elements(), context.output(0).shape.elements()));
}

const char* window_entry(OpKind op) {
  switch (op) {
    case OpKind::MaxPool:
      return "max_pool";
    case OpKind::MaxPoolBwd:
      return "max_pool_bwd";
    case OpKind::AvgPool:
      return "avg_pool";
    default:
      return "avg_pool_bwd";
  }
}

std::vector<Launch> launch_window(const NodeContext& context) {
  PoolParams p = pool_params(context.graph, context.node);
  IndexType index = index_type(context);
  OpKind op = context.node.op;
  Launch launch = pool_launch(context, window_entry(op), index);
  launch.arguments = {input(0)};
  if (op == OpKind::MaxPoolBwd) launch.arguments.emplace_back(input(1));
  launch.arguments.emplace_back(output(0));
  if (op == OpKind::MaxPool) launch.arguments.emplace_back(output(1));
  for (int64_t number : {p.height, p.width, p.channels, p.out_height, p.out_width, p.kernel_h,
                         p.kernel_w, p.stride_h, p.stride_w, p.pad_h, p.pad_w}) {
    launch.arguments.emplace_back(int32_t(number));
  }
  launch.arguments.push_back(index(context.output(0).shape.elements()));
  if (op == OpKind::AvgPool || op == OpKind::AvgPoolBwd) {
    launch.arguments.emplace_back(
        int32_t(context.node.attributes.integer("count_include_pad") != 0));
  }
  return {launch};
}

std::vector<Launch> launch_global_bwd(const NodeContext& context) {
  const Shape& x = context.output(0).shape;
  IndexType index = index_type(context);
  Launch launch = pool_launch(context, "global_avg_pool_bwd", index);
  launch.arguments = {input(0), output(0), int32_t(x[3]), int32_t(x[1] * x[2]),
                      index(x.elements())};
  return {launch};
}

}  // namespace

std::vector<Row> pool_kernels() {
  std::vector<Row> rows;
  for (OpKind op : {OpKind::MaxPool, OpKind::MaxPoolBwd, OpKind::AvgPool, OpKind::AvgPoolBwd}) {
    rows.push_back({op, {.name = "window", .refuse = refuse_f64, .launches = launch_window}});
  }
  rows.push_back({OpKind::GlobalAvgPoolBwd,
                  {.name = "spread", .refuse = refuse_f64, .launches = launch_global_bwd}});
  return rows;
}

}  // namespace pounce::kernels
