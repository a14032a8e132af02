// What `pounce check` found, as an object of --json.
#pragma once

#include <string>

#include "pounce/check.h"

namespace pounce::cli {

// Of type "check", without a line feed; keys as json_event_keys() says.
std::string check_json(const CheckReport& report);

}  // namespace pounce::cli
