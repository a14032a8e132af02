// An OpenCL device as a GpuDevice: one queue for kernels and one for transfers to the device, so
// that the next batch arrives while a step computes; events keep each buffer's users in order.
#pragma once

#include <memory>
#include <string>

#include "backend/gpu/gpu_device.h"
#include "backend/opencl/devices.h"

namespace pounce::opencl {

// Programs are cached in `cache_folder`; empty: nowhere. Throws Device.
std::unique_ptr<GpuDevice> open_device(std::shared_ptr<const Api> api, const DeviceInfo& info,
                                       const std::string& cache_folder);

}  // namespace pounce::opencl
