#include <fmt/format.h>

#include "backend/kernels/families.h"
#include "backend/kernels/rows.h"

namespace pounce::kernels {
namespace {

std::vector<Launch> launch_rows(const NodeContext& context) {
  OpKind op = context.node.op;
  bool backward = op == OpKind::SoftmaxBwd || op == OpKind::LogSoftmaxBwd;
  bool logarithm = op == OpKind::LogSoftmax || op == OpKind::LogSoftmaxBwd;
  int64_t width = channels_of(context.output(0));
  Launch launch{.program = {"softmax",
                            {{"X_TYPE", storage(context.input(0).dtype)},
                             {"Y_TYPE", storage(context.output(0).dtype)},
                             {"LOGARITHM", logarithm ? "1" : "0"}}},
                .entry = backward ? "softmax_bwd" : "softmax",
                .groups = {context.output(0).shape.elements() / width, 1, 1},
                .items = row_items(width)};
  launch.arguments = {input(0)};
  if (backward) launch.arguments.emplace_back(input(1));
  launch.arguments.emplace_back(output(0));
  launch.arguments.emplace_back(width);
  return {launch};
}

}  // namespace

std::vector<Row> softmax_kernels() {
  std::vector<Row> rows;
  for (OpKind op :
       {OpKind::Softmax, OpKind::SoftmaxBwd, OpKind::LogSoftmax, OpKind::LogSoftmaxBwd}) {
    rows.push_back({op, {.name = "rows", .refuse = refuse_f64, .launches = launch_rows}});
  }
  return rows;
}

}  // namespace pounce::kernels
