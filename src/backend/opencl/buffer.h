// Device memory of an OpenCL device, and the commands that use it now.
#pragma once

#include <map>
#include <memory>
#include <utility>

#include "backend/backend.h"
#include "backend/opencl/runtime.h"

namespace pounce::opencl {

class DeviceBuffer final : public Buffer {
 public:
  // Throws OutOfMemory. The memory is there when this returns, not only promised.
  DeviceBuffer(std::shared_ptr<Runtime> runtime, size_t bytes);
  // Waits for the commands that use it, so that the memory is free when this returns.
  ~DeviceBuffer() override;
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;

  size_t bytes() const override { return bytes_; }
  cl_mem memory() const { return memory_.get(); }
  // A kernel's argument that points `offset` bytes into it; made once and kept. `offset` is a
  // multiple of the device's base alignment, `bytes` above 0.
  cl_mem part(size_t offset, size_t bytes);
  // Of this buffer and of no other the runtime ever had.
  uint64_t number() const { return number_; }

  // The last command of the compute queue and of the transfer queue that uses it, as far as the
  // other queue has not waited for it.
  mutable EventRef last_use, last_arrival;

 private:
  std::shared_ptr<Runtime> runtime_;
  size_t bytes_;
  uint64_t number_;
  Memory memory_;
  std::map<std::pair<size_t, size_t>, Memory> parts_;
};

}  // namespace pounce::opencl
