// Batch and layer normalisation in launches of norm.k.
#include <algorithm>

#include <fmt/format.h>

#include "backend/kernels/families.h"
#include "backend/kernels/program_text.h"
#include "backend/kernels/rows.h"
#include "ir/fused.h"

namespace pounce::kernels {
namespace {

constexpr int64_t kColumns = 32;  // WIDTH of norm.k

// x as a matrix of one row a value of every channel, cut into chunks of rows by its shape alone:
// about as many as keep a large GPU busy, none too short to be worth a group.
struct Extents {
  explicit Extents(const TensorType& x)
      : count(x.shape.elements()),
        channels(channels_of(x)),
        rows(count / channels),
        blocks(groups_for(channels, kColumns)) {
    int64_t wanted = std::max<int64_t>(1, 2048 / blocks);
    chunk = std::max<int64_t>(64, groups_for(rows, wanted));
    parts = groups_for(rows, chunk);
  }

  int64_t count, channels, rows, blocks, chunk, parts;
};

struct BatchNormScratch {
  explicit BatchNormScratch(const NodeContext& context) : sections(context.target) {
    Extents e(context.input(0));
    part_mean = sections.add(e.parts * e.channels, sizeof(float));
    part_squares = sections.add(e.parts * e.channels, sizeof(float));
    table = sections.add(4 * e.channels, sizeof(float));
  }

  Sections sections;
  Operand part_mean, part_squares, table;
};

struct BackwardScratch {
  explicit BackwardScratch(const NodeContext& context) : sections(context.target) {
    Extents e(context.input(1));
    part_sum = sections.add(e.parts * e.channels, sizeof(float));
    part_product = sections.add(e.parts * e.channels, sizeof(float));
  }

  Sections sections;
  Operand part_sum, part_product;
};

struct TableScratch {
  explicit TableScratch(const NodeContext& context) : sections(context.target) {
    table = sections.add(4 * channels_of(context.input(0)), sizeof(float));
  }

  Sections sections;
  Operand table;
};

template <typename Scratch>
size_t scratch_bytes(const NodeContext& context) {
  return Scratch(context).sections.bytes();
}

// `x` and `grad`: types of what X_TYPE and G_TYPE stand for.
Launch norm_launch(const char* entry, DType x, DType grad, bool per_row = false) {
  return {.program = {"norm",
                      {{"X_TYPE", storage(x)},
                       {"G_TYPE", storage(grad)},
                       {"PER_ROW", per_row ? "1" : "0"}}},
          .entry = entry,
          .items = kItems};
}

// The program of a fused form reads elements where they lie.
std::optional<std::string> refuse_repeated(const NodeContext& context) {
  if (auto reason = refuse_f64(context)) return reason;
  for (Value operand : program_operands(context.node)) {
    if (context.graph.shape(operand) != context.output(0).shape) return "an operand repeats";
  }
  return std::nullopt;
}

// Of a fused form with its program, which begins with what the table makes.
Launch apply_table(const NodeContext& context, Operand table) {
  Extents e(context.input(0));
  std::string type = storage(context.input(0).dtype), body = "y = x0;";
  std::vector<Operand> operands = {input(0)};
  if (has_program(context.node.op)) {
    body = program_text(program_of(context.node));
    size_t own = op_info(*plain_op(context.node.op)).inputs.size();
    for (size_t i = own; i < context.node.inputs.size(); ++i) operands.push_back(input(i));
  }
  Launch launch{.program = {"norm_apply", {}}, .entry = "apply_table", .items = kItems};
  auto& defines = launch.program.defines;
  defines = {{"INPUTS", fmt::format("{}", operands.size())}, {"Y_TYPE", type}, {"BODY", body}};
  for (size_t i = 0; i < operands.size(); ++i) {
    defines.emplace_back(fmt::format("X{}_TYPE", i), type);
    launch.arguments.emplace_back(operands[i]);
  }
  for (const Argument& more :
       {Argument(table), Argument(output(0)), Argument(e.channels), Argument(e.count)}) {
    launch.arguments.push_back(more);
  }
  launch.groups[0] = groups_for(e.count, kElementsAGroup);
  return launch;
}

std::vector<Launch> launch_batch_norm(const NodeContext& context) {
  Extents e(context.input(0));
  BatchNormScratch scratch(context);
  DType dtype = context.input(0).dtype;
  double momentum = context.node.attributes.number("momentum");
  Launch part = norm_launch("batch_norm_part", dtype, dtype);
  part.arguments = {input(0), scratch.part_mean, scratch.part_squares, e.rows, e.channels, e.chunk};
  part.groups = {e.blocks, e.parts, 1};
  Launch end = norm_launch("batch_norm_end", dtype, dtype);
  end.arguments = {input(0),
                   scratch.part_mean,
                   scratch.part_squares,
                   input(1),
                   input(2),
                   input(3),
                   input(4),
                   output(1),
                   output(2),
                   output(3),
                   output(4),
                   scratch.table,
                   e.rows,
                   e.channels,
                   e.chunk,
                   e.parts,
                   float(context.node.attributes.number("eps")),
                   float(momentum),
                   float(1 - momentum)};
  end.groups[0] = e.blocks;
  return {part, end, apply_table(context, scratch.table)};
}

std::vector<Launch> launch_inference(const NodeContext& context) {
  int64_t channels = channels_of(context.input(0));
  TableScratch scratch(context);
  DType dtype = context.input(0).dtype;
  Launch table = norm_launch("inference_table", dtype, dtype);
  table.arguments = {input(1),
                     input(2),
                     input(3),
                     input(4),
                     scratch.table,
                     channels,
                     float(context.node.attributes.number("eps"))};
  table.groups[0] = groups_for(channels, kItems);
  return {table, apply_table(context, scratch.table)};
}

// The gradients of gamma and beta, outputs 1 and 2; before grad_x is written over grad_y.
std::vector<Launch> column_sums(const NodeContext& context, bool per_row) {
  Extents e(context.input(1));
  BackwardScratch scratch(context);
  DType grad = context.input(0).dtype, x = context.input(1).dtype;
  Launch part = norm_launch("norm_bwd_part", x, grad, per_row);
  part.arguments = {input(0), input(1),         input(3),
                    input(4), scratch.part_sum, scratch.part_product,
                    e.rows,   e.channels,       e.chunk};
  part.groups = {e.blocks, e.parts, 1};
  Launch end = norm_launch("norm_bwd_end", x, grad, per_row);
  end.arguments = {scratch.part_sum, scratch.part_product, output(1),
                   output(2),        e.channels,           e.parts};
  end.groups[0] = e.blocks;
  return {part, end};
}

std::vector<Launch> launch_batch_norm_bwd(const NodeContext& context) {
  Extents e(context.input(1));
  std::vector<Launch> launches = column_sums(context, false);
  Launch apply = norm_launch("batch_norm_bwd", context.input(1).dtype, context.input(0).dtype);
  apply.arguments = {input(0),  input(1),  input(2), input(3),   input(4), output(1),
                     output(2), output(0), e.rows,   e.channels, e.count};
  apply.groups[0] = groups_for(e.count, kElementsAGroup);
  launches.push_back(apply);
  return launches;
}

std::vector<Launch> launch_layer_norm(const NodeContext& context) {
  Extents e(context.input(0));
  DType dtype = context.input(0).dtype;
  Launch launch = norm_launch("layer_norm", dtype, dtype, true);
  launch.items = row_items(e.channels);
  launch.arguments = {
      input(0),  input(1),  input(2),   output(0),
      output(1), output(2), e.channels, float(context.node.attributes.number("eps"))};
  launch.groups[0] = e.rows;
  return {launch};
}

std::vector<Launch> launch_layer_norm_bwd(const NodeContext& context) {
  Extents e(context.input(1));
  std::vector<Launch> launches = column_sums(context, true);
  Launch rows = norm_launch("layer_norm_bwd", context.input(1).dtype, context.input(0).dtype, true);
  rows.items = row_items(e.channels);
  rows.arguments = {input(0), input(1), input(2), input(3), input(4), output(0), e.channels};
  rows.groups[0] = e.rows;
  launches.push_back(rows);
  return launches;
}

}  // namespace

std::vector<Row> norm_kernels() {
  return {
      {OpKind::BatchNorm,
       {.name = "norm",
        .batch_invariant = false,
        .refuse = refuse_f64,
        .workspace_bytes = scratch_bytes<BatchNormScratch>,
        .launches = launch_batch_norm}},
      {OpKind::BatchNormBwd,
       {.name = "norm",
        .refuse = refuse_f64,
        .workspace_bytes = scratch_bytes<BackwardScratch>,
        .launches = launch_batch_norm_bwd}},
      {OpKind::BatchNormInference,
       {.name = "norm",
        .refuse = refuse_f64,
        .workspace_bytes = scratch_bytes<TableScratch>,
        .launches = launch_inference}},
      {OpKind::BatchNormFused,
       {.name = "norm",
        .batch_invariant = false,
        .refuse = refuse_repeated,
        .workspace_bytes = scratch_bytes<BatchNormScratch>,
        .launches = launch_batch_norm}},
      {OpKind::BatchNormInferenceFused,
       {.name = "norm",
        .refuse = refuse_repeated,
        .workspace_bytes = scratch_bytes<TableScratch>,
        .launches = launch_inference}},
      {OpKind::LayerNorm, {.name = "norm", .refuse = refuse_f64, .launches = launch_layer_norm}},
      {OpKind::LayerNormBwd,
       {.name = "norm",
        .refuse = refuse_f64,
        .workspace_bytes = scratch_bytes<BackwardScratch>,
        .launches = launch_layer_norm_bwd}},
  };
}

}  // namespace pounce::kernels
