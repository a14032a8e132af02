// Help texts, made from the flag table. No line is wider than kHelpWidth columns.
#pragma once

#include <span>
#include <string>

#include "cli/flag_table.h"

namespace pounce::cli {

constexpr int kHelpWidth = 100;
constexpr int kScreenWidth = 80;  // of the helps that fit a screen of 24 lines

// Of the program: its commands. Ends with a line feed, as all of these do.
std::string program_help();
// Of the commands that begin with this word.
std::string group_help(const std::string& group);
// One screen: the flags that are used most with a line each, the others by name.
std::string short_help(const Command& command);
// Every flag with its default and details.
std::string full_help(const Command& command);
// docs/cli.md.
std::string markdown_help();

// What stands in place of a command.
struct ProgramFlag {
  std::string name;   // "--completions"
  std::string usage;  // "--completions bash|zsh|fish"
  std::string help;   // one line
};
std::span<const ProgramFlag> program_flags();

struct ExitCode {
  std::string code;  // "0"
  std::string meaning;
};
std::span<const ExitCode> exit_codes();

}  // namespace pounce::cli
