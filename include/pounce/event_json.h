// Events as JSON, one object a line: what `--json` prints and log.jsonl holds.
#pragma once

#include <string>

#include "pounce/train.h"

namespace pounce {

// An object with `type` (run_begin, progress, epoch, checkpoint, warning, note, program, run_end)
// and the keys docs/cli.md lists. No line feed. Text that is not UTF-8 is replaced character by
// character.
POUNCE_API std::string event_to_json(const Event& event);
// The same for what ended a run: `type` is error.
std::string error_to_json(const Error& error);

}  // namespace pounce
