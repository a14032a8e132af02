// The backends this build holds, by name, and the GPUs they can see.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backend/backend.h"

namespace pounce {

struct BackendOptions {
  int threads = 0;                   // 0: as many as this process may use
  int device = 0;                    // which, where a backend has several
  bool direct_convolutions = false;  // as Target has it
};

// "cpu", "opencl", "reference". Throws Unsupported naming those there are for another name, Device
// where this machine lacks the device.
std::unique_ptr<Backend> make_backend(std::string_view name, const BackendOptions& options = {});
std::vector<std::string_view> backend_names();

struct FoundGpu {
  std::string backend;  // to be made with BackendOptions::device
  int device = 0;
  std::string name;  // as its driver says
};

// Best first. Milliseconds, and no driver opened, where the system shows no GPU.
std::vector<FoundGpu> find_gpus();

}  // namespace pounce
