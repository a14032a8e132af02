// From the word a user gives for a device to a backend.
#pragma once

#include <memory>
#include <string>

#include "backend/backend.h"

namespace pounce {

struct OpenDevice {
  std::shared_ptr<Backend> backend;
  std::string description;  // "cpu, 8 threads"

  bool is_cpu() const { return backend->target().kind == DeviceKind::Cpu; }
};

// `name`: auto, cpu or reference. Throws Device for one this build cannot use, saying what it can.
// threads 0: as many as this process may use.
OpenDevice open_device(const std::string& name, int threads);

}  // namespace pounce
