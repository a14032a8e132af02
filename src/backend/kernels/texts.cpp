#include "backend/kernels/texts.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"

namespace pounce::kernels {
namespace {

std::string_view required(std::string_view file) {
  std::string_view text = source(file);
  if (text.empty()) fail(ErrorKind::Internal, "there is no GPU kernel file \"{}\"", file);
  return text;
}

}  // namespace

std::string_view source(std::string_view file) {
  std::span<const Text> all = texts();
  auto at =
      std::find_if(all.begin(), all.end(), [&](const Text& text) { return text.name == file; });
  return at == all.end() ? std::string_view() : at->content;
}

std::string module_text(const Program& program, int items, std::string_view dialect) {
  std::string text;
  for (const auto& [name, value] : program.defines)
    text += fmt::format("#define {} {}\n", name, value);
  text += fmt::format("#define ITEMS {}\n", items);
  text += required(dialect);
  text += source("common");  // may be empty
  text += required(program.file);
  return text;
}

}  // namespace pounce::kernels
