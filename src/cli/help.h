// Help texts, made from the flag table. No line is wider than kHelpWidth columns.
#pragma once

#include <string>

#include "cli/flag_table.h"

namespace pounce::cli {

constexpr int kHelpWidth = 100;

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

}  // namespace pounce::cli
