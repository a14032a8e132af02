// The commands that measure.
#pragma once

#include "cli/flag_table.h"

namespace pounce::cli {

Command bench_step_command();
Command bench_loader_command();

}  // namespace pounce::cli
