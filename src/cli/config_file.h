// Files for --config: TOML with the names of the training flags as keys, as every run folder has
// one.
#pragma once

#include <string>
#include <string_view>

#include "cli/flag_table.h"

namespace pounce::cli {

// Sets what the file holds. Throws Config with file and line for an unknown key, a value of the
// wrong type or out of range, or text that is no TOML; Io for a file that cannot be read.
void read_config_file(const std::string& path, Settings& settings);

// The same from text; `name` stands for the file in messages.
void read_config_text(std::string_view text, const std::string& name, Settings& settings);

}  // namespace pounce::cli
