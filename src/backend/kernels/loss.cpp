#include <fmt/format.h>

#include "backend/kernels/families.h"
#include "backend/kernels/rows.h"

namespace pounce::kernels {
namespace {

std::optional<std::string> refuse_other_floats(const NodeContext& context) {
  const TensorType& logits = context.input(context.node.op == OpKind::CrossEntropyBwd ? 1 : 0);
  if (logits.dtype == DType::F32) return std::nullopt;
  return fmt::format("the logits are {}, only f32 is served", dtype_name(logits.dtype));
}

Launch loss_launch(const char* entry, const TensorType& logits) {
  int64_t classes = logits.shape[1];
  Launch launch{.program = {"loss", {}}, .entry = entry, .items = row_items(classes)};
  // Nothing to do, and no row to read, where there are no classes.
  launch.groups[0] = classes == 0 ? 0 : logits.shape[0];
  return launch;
}

std::vector<Launch> launch_cross_entropy(const NodeContext& context) {
  Launch launch = loss_launch("cross_entropy", context.input(0));
  launch.arguments = {input(0), input(1), input(2), output(0), context.input(0).shape[1]};
  return {launch};
}

std::vector<Launch> launch_cross_entropy_bwd(const NodeContext& context) {
  Launch launch = loss_launch("cross_entropy_bwd", context.input(1));
  launch.arguments = {input(0), input(1), input(2), input(3), output(0), context.input(1).shape[1]};
  return {launch};
}

std::vector<Launch> launch_target_rank(const NodeContext& context) {
  Launch launch = loss_launch("target_rank", context.input(0));
  launch.arguments = {input(0), input(1), output(0), int32_t(context.input(0).shape[1])};
  return {launch};
}

}  // namespace

std::vector<Row> loss_kernels() {
  auto row = [](OpKind op, std::vector<Launch> (*launches)(const NodeContext&)) {
    return Row{op, {.name = "rows", .refuse = refuse_other_floats, .launches = launches}};
  };
  return {row(OpKind::CrossEntropy, launch_cross_entropy),
          row(OpKind::CrossEntropyBwd, launch_cross_entropy_bwd),
          row(OpKind::TargetRank, launch_target_rank)};
}

}  // namespace pounce::kernels
