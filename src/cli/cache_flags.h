// The command that shows and clears the cache folder.
#pragma once

#include "cli/flag_table.h"

namespace pounce::cli {

Command cache_command();

}  // namespace pounce::cli
