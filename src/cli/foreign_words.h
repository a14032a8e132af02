// Answers to words that Pounce does not know: the nearest word of its own, or the translation of a
// word of another tool.
#pragma once

#include <span>
#include <string>

#include "cli/flag_table.h"

namespace pounce::cli {

// Throws Config; `written` with its dashes.
[[noreturn]] void fail_unknown_flag(const Command& command, const std::string& written);

// Throws Config. `name`: the word, or the words of a group and its command.
[[noreturn]] void fail_unknown_command(const std::string& name);

// Throws Config, naming the commands of the group. `words`: the group's, and what follows instead
// of the second word of a command, if anything does.
[[noreturn]] void fail_incomplete_command(std::span<const std::string> words);

// Throws Config when `word` is a flag in the form of another tool, such as epochs=10.
void refuse_assignment_word(const Command& command, const std::string& word);

}  // namespace pounce::cli
