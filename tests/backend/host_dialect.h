// The shared GPU kernels on the host: a GpuDevice that compiles them as C++ with the compiler the
// tests were built with, sanitizers included, and runs one work-group after the other. Runs what a
// GPU would run, on any machine.
#pragma once

#include <memory>

#include "backend/gpu/gpu_device.h"

namespace pounce {

// In which order the groups of a launch run; no result may depend on it.
enum class GroupOrder { Forward, Backward };

// Placements are aligned to 128 bytes, as PoCL wants them. Compiled kernels are kept in the
// folder of POUNCE_CACHE_DIR, or a temporary one, by what was compiled.
std::unique_ptr<GpuDevice> make_host_dialect_device(GroupOrder order = GroupOrder::Forward);

// The whole backend over it.
std::unique_ptr<Backend> make_host_dialect_backend(GroupOrder order = GroupOrder::Forward);

}  // namespace pounce
