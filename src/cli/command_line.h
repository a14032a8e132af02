// The program: chooses the command, turns errors into messages and exit codes.
#pragma once

#include <span>
#include <string>

namespace pounce::cli {

// `words`: the arguments without the program's name. Returns the exit code: 0 done, 1 failed, 2
// wrong usage or configuration, 130 or 143 interrupted.
int run_command_line(std::span<const std::string> words);

}  // namespace pounce::cli
