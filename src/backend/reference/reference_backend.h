// The backend every other one is tested against: the reference kernels, one thread.
#pragma once

#include <memory>

#include "backend/registry.h"

namespace pounce {

std::unique_ptr<Backend> make_reference_backend(const BackendOptions& options = {});

}  // namespace pounce
