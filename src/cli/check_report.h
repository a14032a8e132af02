// What `pounce check` found, for people.
#pragma once

#include <string>

#include "pounce/check.h"

namespace pounce::cli {

// `is_full`: every file of the long lists; else the first few and how many more. Names in it are
// made printable(). Without a line feed at the end.
std::string check_report(const CheckReport& report, bool is_full);

}  // namespace pounce::cli
