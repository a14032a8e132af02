// Fused forms of ops (ir/fused.h) on host backends: an implementation of the plain op, and a loop
// over the program behind it. It asks for no memory but what the two parts need.
#pragma once

#include <array>

#include "backend/implementation.h"
#include "ir/fused.h"

namespace pounce {

// A program ready to run: addresses of its operands, of its result, which may lie over operand 0.
using ProgramOperands = std::span<const void* const>;
using ProgramKernel =
    std::function<void(const KernelArguments&, const ProgramOperands&, void* result)>;

// The addresses of a run: where the program begins, then what follows the plain op's inputs.
class OperandAddresses {
 public:
  OperandAddresses(const void* begin, std::span<const void* const> further) : count_(1) {
    addresses_[0] = begin;
    for (const void* each : further) addresses_[count_++] = each;
  }
  ProgramOperands all() const { return ProgramOperands(addresses_).first(count_); }

 private:
  std::array<const void*, size_t(kMostProgramOperands)> addresses_;
  size_t count_;
};

// What a host backend composes from. The contexts are those of nodes with a program.
struct ComposedParts {
  std::span<const Implementation> (*implementations)(OpKind);
  ProgramKernel (*make_program)(const NodeContext&);
  // Scratch in the arguments' workspace; null: none.
  size_t (*program_workspace_bytes)(const NodeContext&) = nullptr;
};

std::optional<std::string> refuse_composed(const ComposedParts& parts, const NodeContext& context);
size_t composed_workspace_bytes(const ComposedParts& parts, const NodeContext& context);
HostKernel make_composed(const ComposedParts& parts, const NodeContext& context);

// A row for an op that is nothing but a program.
HostKernel make_whole(const ComposedParts& parts, const NodeContext& context);

}  // namespace pounce
