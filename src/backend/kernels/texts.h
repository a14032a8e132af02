// The files of this folder, *.k and *.preamble, as the build put them into the library, and how a
// device's compiler gets to see them.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "backend/kernels/launch.h"

namespace pounce::kernels {

struct Text {
  std::string_view name;  // without its extension
  std::string_view content;
};

// By name.
std::span<const Text> texts();

// What is compiled for a program in a dialect ("opencl", "cuda", "host"): the program's macros,
// ITEMS, the dialect's preamble, the file `common` and the program's own file. Throws Internal for
// an unknown file.
std::string module_text(const Program& program, int items, std::string_view dialect);

}  // namespace pounce::kernels
