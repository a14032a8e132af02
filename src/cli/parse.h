// Turns the words after a command's name into Settings: flags go before the file of --config, and
// that goes before the defaults. Nothing but that file is touched.
#pragma once

#include <span>
#include <string>

#include "cli/flag_table.h"

namespace pounce::cli {

struct Invocation {
  FlagAction action = FlagAction::Set;  // Set: run the command
  Settings settings;
};

// Understands --name value, --name=value, --name and --no-name of switches, -b 64, -b64, clusters
// of short switches, and -- before arguments that start with a dash. Throws Config.
Invocation parse_arguments(const Command& command, std::span<const std::string> words);

}  // namespace pounce::cli
