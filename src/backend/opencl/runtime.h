// What the parts of an OpenCL device share: its context, its two queues and its count of memory.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <vector>

#include "backend/opencl/devices.h"

namespace pounce::opencl {

// A command somebody may have to wait for; null: none.
using EventRef = std::shared_ptr<const Event>;

struct Runtime {
  std::shared_ptr<const Api> api;
  DeviceInfo device;
  Context context;
  Queue compute;    // kernels, copies, transfers to the host; in order
  Queue transfers;  // to the device; in order
  size_t allocated_bytes = 0;
  size_t peak_bytes = 0;
  uint64_t buffers_made = 0;

  EventRef own(cl_event event) const { return std::make_shared<const Event>(api, event); }
};

// Throws Device.
std::shared_ptr<Runtime> open_runtime(std::shared_ptr<const Api> api, const DeviceInfo& info);

// The handles of those there are, each once.
std::vector<cl_event> list_of(std::initializer_list<EventRef> events);
inline const cl_event* data_or_null(const std::vector<cl_event>& events) {
  return events.empty() ? nullptr : events.data();  // the library wants null for an empty list
}

}  // namespace pounce::opencl
