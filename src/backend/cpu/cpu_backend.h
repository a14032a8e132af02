// The backend for ordinary processors: oneDNN convolutions and our own vector kernels on OpenMP
// threads, in the host's memory.
#pragma once

#include <memory>

#include "backend/registry.h"

namespace pounce {

// Its Target describes this machine. Results do not depend on options.threads.
std::unique_ptr<Backend> make_cpu_backend(const BackendOptions& options);

}  // namespace pounce
