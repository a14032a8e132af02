// Nodes with a program: tiles for `fused`, and any implementation of the plain op with tiles behind
// it for fused forms that no kernel of their own serves.
#include "backend/cpu/kernels.h"
#include "backend/cpu/parallel.h"
#include "backend/cpu/tile_program.h"

namespace pounce::cpu {
namespace {

size_t program_workspace_bytes(const NodeContext& context) {
  return TileProgram(context).scratch_bytes() * size_t(context.target.threads);
}

ProgramKernel make_program(const NodeContext& context) {
  TileProgram program(context);
  int64_t elements = context.output(0).shape.elements();
  int threads = context.target.threads;
  return [=](const KernelArguments& arguments, const ProgramOperands& operands, void* result) {
    parallel_pieces(threads, elements, kElementwiseGrain, [&](int64_t first, int64_t end) {
      char* scratch = static_cast<char*>(arguments.workspace) +
                      size_t(worker_index()) * program.scratch_bytes();
      program.run(operands, static_cast<float*>(result), first, end,
                  reinterpret_cast<float*>(scratch));
    });
  };
}

constexpr ComposedParts kParts = {.implementations = implementations,
                                  .make_program = make_program,
                                  .program_workspace_bytes = program_workspace_bytes};

std::optional<std::string> refuse_form(const NodeContext& context) {
  if (auto reason = refuse_other_floats(context)) return reason;
  return refuse_composed(kParts, context);
}

Row composed_row(OpKind op) {
  return {op,
          {.name = "composed",
           .refuse = refuse_form,
           .workspace_bytes =
               [](const NodeContext& context) { return composed_workspace_bytes(kParts, context); },
           .make = [](const NodeContext& context) { return make_composed(kParts, context); }}};
}

}  // namespace

std::vector<Row> fused_kernels() {
  return {{OpKind::Fused,
           {.name = "tiles",
            .refuse = refuse_other_floats,
            .workspace_bytes = program_workspace_bytes,
            .make = [](const NodeContext& context) { return make_whole(kParts, context); }}},
          composed_row(OpKind::Conv2dFused),
          composed_row(OpKind::MatMulFused),
          composed_row(OpKind::BatchNormFused),
          composed_row(OpKind::BatchNormInferenceFused)};
}

}  // namespace pounce::cpu
