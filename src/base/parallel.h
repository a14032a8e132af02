// A loop shared out over threads, for work that is the same whichever thread does it.
#pragma once

#include <cstddef>
#include <functional>

namespace pounce {

// Calls body(0) to body(count - 1), each once and in no particular order, on at most `threads`
// threads (0: usable_cores()), the caller's among them. The first exception keeps further calls
// from starting and is rethrown when those in progress have ended.
void for_each_parallel(int threads, size_t count, const std::function<void(size_t)>& body);

}  // namespace pounce
