#include "backend/composed.h"

#include <algorithm>

#include "backend/lowering.h"
#include "base/error.h"

namespace pounce {
namespace {

HostKernel with_epilogue(HostKernel plain, ProgramKernel program, size_t inputs) {
  return [=](const KernelArguments& arguments) {
    KernelArguments own = arguments;
    own.inputs = arguments.inputs.first(inputs);
    plain(own);
    void* y = arguments.outputs[0];
    program(arguments, OperandAddresses(y, arguments.inputs.subspan(inputs)).all(), y);
  };
}

}  // namespace

std::optional<std::string> refuse_composed(const ComposedParts& parts, const NodeContext& context) {
  Node plain = plain_node(context.node);
  NodeContext of_plain{context.graph, plain, context.target};
  if (choose_implementation(parts.implementations(plain.op), of_plain).entry != nullptr)
    return std::nullopt;
  return fmt::format("no implementation of {}", op_info(plain.op).name);
}

size_t composed_workspace_bytes(const ComposedParts& parts, const NodeContext& context) {
  Node plain = plain_node(context.node);
  NodeContext of_plain{context.graph, plain, context.target};
  const Implementation& chosen =
      *choose_implementation(parts.implementations(plain.op), of_plain).entry;
  size_t own = chosen.workspace_bytes == nullptr ? 0 : chosen.workspace_bytes(of_plain);
  if (parts.program_workspace_bytes == nullptr) return own;
  return std::max(own, parts.program_workspace_bytes(context));
}

HostKernel make_composed(const ComposedParts& parts, const NodeContext& context) {
  Node plain = plain_node(context.node);
  NodeContext of_plain{context.graph, plain, context.target};
  HostKernel kernel =
      choose_implementation(parts.implementations(plain.op), of_plain).entry->make(of_plain);
  ProgramKernel program = parts.make_program(context);
  return with_epilogue(std::move(kernel), std::move(program), plain.inputs.size());
}

HostKernel make_whole(const ComposedParts& parts, const NodeContext& context) {
  return [program = parts.make_program(context)](const KernelArguments& arguments) {
    program(arguments, arguments.inputs, arguments.outputs[0]);
  };
}

}  // namespace pounce
