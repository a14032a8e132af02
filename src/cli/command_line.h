// The program: chooses the command, turns errors into messages and exit codes.
#pragma once

#include <functional>
#include <span>
#include <string>

namespace pounce::cli {

// `words`: the arguments without the program's name. Returns the exit code: 0 done, 1 failed, 2
// wrong usage or configuration, 130 or 143 interrupted. `before_work` is called once the words are
// understood, before the command's first thread and file: mistakes are answered without its cost.
int run_command_line(std::span<const std::string> words, const std::function<void()>& before_work);

}  // namespace pounce::cli
