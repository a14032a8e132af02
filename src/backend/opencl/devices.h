// The OpenCL devices of this machine: which there are, in which order, and whether it is worth
// asking at all.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backend/opencl/api.h"

namespace pounce::opencl {

struct DeviceInfo {
  cl_platform_id platform = nullptr;
  cl_device_id id = nullptr;
  bool is_gpu = false;
  std::string name;  // as the driver says, "NVIDIA GeForce RTX 3060"
  std::string platform_name;
  std::string driver;  // its version
  size_t memory_bytes = 0;
  size_t largest_buffer_bytes = 0;
  size_t base_alignment = 1;  // bytes; of the start of a sub-buffer
  bool can_compile = false;
};

enum class DeviceSearch {
  All,      // every device; GPUs come first, else in the drivers' order
  GpusOnly  // opens no platform where no file of the system speaks of a GPU
};

// Throws Device where OpenCL itself is missing or broken; a machine without devices has none.
std::vector<DeviceInfo> list_devices(const Api& api, DeviceSearch search);

// Places where the system shows GPUs and OpenCL drivers. Others than the defaults are for tests.
struct SystemPaths {
  std::string device_folder = "/dev";
  std::string driver_folder = "/etc/OpenCL/vendors";
};

// False when the answer to "is there a GPU with OpenCL" is no without opening a driver, which can
// take a tenth of a second and a hundred megabytes: no device file of a GPU, or no driver
// registered but PoCL, which computes on the processor.
bool may_have_gpu(const SystemPaths& paths = {});

}  // namespace pounce::opencl
