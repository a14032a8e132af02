// From the word a user gives for a device to a backend.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "backend/backend.h"
#include "pounce/train.h"

namespace pounce {

struct OpenDevice {
  std::shared_ptr<Backend> backend;
  std::string description;  // "cpu, 8 threads"

  bool is_cpu() const { return backend->target().kind == DeviceKind::Cpu; }
};

struct DeviceChoice {
  enum class Kind {
    Auto,    // the best GPU there is, else the processor
    Gpu,     // GPU `index`, best first, and nothing else
    OpenCl,  // OpenCL device `index`, GPUs before processors
    Cpu,
    Reference,  // for tests and for who asks for it by name
  };
  Kind kind = Kind::Auto;
  int index = 0;
};

// auto, cpu, gpu, a GPU's number, opencl, opencl:N, reference; nothing for any other word. Asks no
// device. Throws Device for cuda, which this build lacks.
std::optional<DeviceChoice> parse_device(const std::string& word);

struct ProcessorOptions {
  int threads = 0;  // 0: as many as this process may use
  ConvAlgorithm conv_algorithm = ConvAlgorithm::Auto;
};

// `name` as parse_device takes it; the options are for the host's processor. Throws Device for one
// that is not there or that it does not know.
OpenDevice open_device(const std::string& name, const ProcessorOptions& options);

}  // namespace pounce
