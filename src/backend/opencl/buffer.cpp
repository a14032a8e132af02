#include "backend/opencl/buffer.h"

#include <algorithm>

#include <fmt/format.h>

namespace pounce::opencl {
namespace {

[[noreturn]] void fail_allocation(const Runtime& runtime, size_t bytes, cl_int error) {
  const DeviceInfo& device = runtime.device;
  std::string limit;
  if (bytes > device.largest_buffer_bytes) {
    limit = fmt::format("; it wants no buffer above {} bytes", device.largest_buffer_bytes);
  }
  fail_with_hint(ErrorKind::OutOfMemory, "use a smaller batch or smaller images",
                 "{} bytes asked for on {}, {} of {} bytes already in use by Pounce{} ({})", bytes,
                 device.name, runtime.allocated_bytes, device.memory_bytes, limit,
                 error_name(error));
}

}  // namespace

DeviceBuffer::DeviceBuffer(std::shared_ptr<Runtime> runtime, size_t bytes)
    : runtime_(std::move(runtime)), bytes_(bytes), number_(++runtime_->buffers_made) {
  const Api& api = *runtime_->api;
  size_t total = runtime_->device.memory_bytes;
  if (bytes > total - std::min(total, runtime_->allocated_bytes)) {
    fail_allocation(*runtime_, bytes, CL_MEM_OBJECT_ALLOCATION_FAILURE);
  }
  cl_int error = CL_SUCCESS;
  cl_mem memory = api.create_buffer(runtime_->context.get(), CL_MEM_READ_WRITE,
                                    std::max(bytes, size_t{1}), nullptr, &error);
  if (error != CL_SUCCESS) fail_allocation(*runtime_, bytes, error);
  memory_ = Memory(runtime_->api, memory);
  // Drivers allocate at the first use, which must not fail in the middle of a training.
  const uint8_t zero = 0;
  error =
      api.enqueue_fill_buffer(runtime_->compute.get(), memory, &zero, 1, 0, 1, 0, nullptr, nullptr);
  if (error == CL_SUCCESS) error = api.finish(runtime_->compute.get());
  if (error != CL_SUCCESS) fail_allocation(*runtime_, bytes, error);
  runtime_->allocated_bytes += bytes_;
  runtime_->peak_bytes = std::max(runtime_->peak_bytes, runtime_->allocated_bytes);
}

DeviceBuffer::~DeviceBuffer() {
  std::vector<cl_event> users = list_of({last_use, last_arrival});
  // Whether they failed is for who asks for results.
  if (!users.empty()) runtime_->api->wait_for_events(cl_uint(users.size()), users.data());
  runtime_->allocated_bytes -= bytes_;
}

cl_mem DeviceBuffer::part(size_t offset, size_t bytes) {
  POUNCE_ASSERT(offset <= bytes_ && bytes <= bytes_ - offset);
  POUNCE_ASSERT(offset % runtime_->device.base_alignment == 0);
  auto known = parts_.find({offset, bytes});
  if (known != parts_.end()) return known->second.get();
  cl_buffer_region region{offset, bytes};
  cl_int error = CL_SUCCESS;
  cl_mem part = runtime_->api->create_sub_buffer(memory_.get(), CL_MEM_READ_WRITE,
                                                 CL_BUFFER_CREATE_TYPE_REGION, &region, &error);
  check(error, "clCreateSubBuffer");
  return parts_.emplace(std::pair(offset, bytes), Memory(runtime_->api, part)).first->second.get();
}

}  // namespace pounce::opencl
