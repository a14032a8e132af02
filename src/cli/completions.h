// Completion scripts of shells, made from the flag table.
#pragma once

#include <string>
#include <string_view>

namespace pounce::cli {

// `shell`: bash, zsh or fish. Throws Config for another one.
std::string completion_script(std::string_view shell);

}  // namespace pounce::cli
