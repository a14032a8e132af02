// The command that looks at a folder before training does.
#pragma once

#include "cli/flag_table.h"

namespace pounce::cli {

Command check_command();

}  // namespace pounce::cli
