// The backend for any vendor's GPU: shared kernels through OpenCL 1.2. Processors with an OpenCL
// driver work, too, for who asks for them by name.
#pragma once

#include <memory>

#include "backend/registry.h"

namespace pounce {

// options.device counts the OpenCL devices, GPUs first. Throws Device where there is none of that
// number, naming those there are.
std::unique_ptr<Backend> make_opencl_backend(const BackendOptions& options);

// Those that training would run on, in the order of options.device. Opens no driver where the
// system shows no GPU. A broken OpenCL has none.
std::vector<std::string> opencl_gpus();

}  // namespace pounce
