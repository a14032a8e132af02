// What became of a program on its way from graph to device, as text for people.
#pragma once

#include <string>
#include <string_view>

#include "engine/session.h"

namespace pounce {

// Passes with their times, implementations by op with what was refused and why, the memory plan.
// Several lines, without a line feed at the end. Throws InvalidArgument for an unknown program.
std::string report_program(const Session& session, std::string_view program);

}  // namespace pounce
