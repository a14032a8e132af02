// The manual page, made from the flag table.
#pragma once

#include <string>

namespace pounce::cli {

// roff with the man macros, for man1. No date, so that equal sources give equal pages.
std::string man_page();

}  // namespace pounce::cli
