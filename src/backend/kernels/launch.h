// What a GPU runs for a node, as plain data: launches of the shared kernels. The same for every GPU
// backend and made without a device; each backend only compiles the programs and puts the launches
// into its queue.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "backend/implementation.h"

namespace pounce::kernels {

// A unit of compilation: one file of this folder with its macros. Few distinct ones a graph, since
// each costs compile time: element types, flags and formulas are macros, shapes are arguments.
struct Program {
  std::string file;                                          // "gemm": gemm.k
  std::vector<std::pair<std::string, std::string>> defines;  // {"STORAGE", "HALF"}, in this order

  auto operator<=>(const Program&) const = default;
};

// Memory of the node that an argument points to.
struct Operand {
  enum class Kind : uint8_t { Input, Output, Workspace };
  Kind kind = Kind::Input;
  size_t index = 0;   // of the node's inputs or outputs
  size_t offset = 0;  // bytes from its start
};

// The alternatives are the dialects' pointers, i32, i64 and float.
using Argument = std::variant<Operand, int32_t, int64_t, float>;

struct Launch {
  Program program = {};
  std::string entry = {};  // name of the kernel in the file
  std::vector<Argument> arguments = {};
  std::array<int64_t, 3> groups = {1, 1, 1};  // work-groups; a function of shapes alone
  int items = 1;                              // work-items a group, along x; also macro ITEMS
};

// The name of implementations that move input 0 to output 0 as it is: nothing is launched for a
// node whose output lies over its input.
inline constexpr std::string_view kCopy = "copy";

// How a GPU serves an op. Several an op may stand in order, as on the host; the last always works.
struct Implementation {
  std::string_view name;
  bool batch_invariant = true;  // as pounce::Implementation
  // Why it cannot serve this node; nothing when it can. Null: serves every node.
  std::optional<std::string> (*refuse)(const NodeContext&) = nullptr;
  size_t (*workspace_bytes)(const NodeContext&) = nullptr;  // null: none
  // In the order in which they run; each sees the memory the ones before it wrote.
  std::vector<Launch> (*launches)(const NodeContext&) = nullptr;
  std::vector<Alias> in_place = {};  // beyond the op table's
};

// Best first. Empty: no shared kernel serves the op.
std::span<const Implementation> implementations(OpKind op);

// The text of a file of this folder, "gemm" or a dialect's preamble; empty for an unknown name.
std::string_view source(std::string_view file);

}  // namespace pounce::kernels
