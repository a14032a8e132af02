// libOpenCL, opened while the program runs: its functions by name, what its error numbers mean, and
// owners of its objects. One binary serves machines with and without it.
#pragma once

#define CL_TARGET_OPENCL_VERSION 120
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <CL/cl.h>

#include "base/error.h"
#include "base/shared_library.h"

namespace pounce::opencl {

// X(member, name in the library)
#define POUNCE_OPENCL_FUNCTIONS(X)                                \
  X(get_platform_ids, clGetPlatformIDs)                           \
  X(get_platform_info, clGetPlatformInfo)                         \
  X(get_device_ids, clGetDeviceIDs)                               \
  X(get_device_info, clGetDeviceInfo)                             \
  X(create_context, clCreateContext)                              \
  X(release_context, clReleaseContext)                            \
  X(create_command_queue, clCreateCommandQueue)                   \
  X(release_command_queue, clReleaseCommandQueue)                 \
  X(create_buffer, clCreateBuffer)                                \
  X(create_sub_buffer, clCreateSubBuffer)                         \
  X(release_mem_object, clReleaseMemObject)                       \
  X(create_program_with_source, clCreateProgramWithSource)        \
  X(create_program_with_binary, clCreateProgramWithBinary)        \
  X(build_program, clBuildProgram)                                \
  X(get_program_info, clGetProgramInfo)                           \
  X(get_program_build_info, clGetProgramBuildInfo)                \
  X(release_program, clReleaseProgram)                            \
  X(create_kernel, clCreateKernel)                                \
  X(get_kernel_info, clGetKernelInfo)                             \
  X(release_kernel, clReleaseKernel)                              \
  X(set_kernel_arg, clSetKernelArg)                               \
  X(enqueue_nd_range_kernel, clEnqueueNDRangeKernel)              \
  X(enqueue_fill_buffer, clEnqueueFillBuffer)                     \
  X(enqueue_read_buffer, clEnqueueReadBuffer)                     \
  X(enqueue_write_buffer, clEnqueueWriteBuffer)                   \
  X(enqueue_copy_buffer, clEnqueueCopyBuffer)                     \
  X(enqueue_map_buffer, clEnqueueMapBuffer)                       \
  X(enqueue_unmap_mem_object, clEnqueueUnmapMemObject)            \
  X(enqueue_marker_with_wait_list, clEnqueueMarkerWithWaitList)   \
  X(enqueue_barrier_with_wait_list, clEnqueueBarrierWithWaitList) \
  X(wait_for_events, clWaitForEvents)                             \
  X(get_event_info, clGetEventInfo)                               \
  X(release_event, clReleaseEvent)                                \
  X(flush, clFlush)                                               \
  X(finish, clFinish)

class Api {
 public:
  // The system's libOpenCL.so.1; opening it opens no platform. Error kind Device where there is
  // none, or one older than OpenCL 1.2.
  static Result<std::shared_ptr<const Api>> open();

#define POUNCE_DECLARE(member, name) decltype(&name) member = nullptr;
  POUNCE_OPENCL_FUNCTIONS(POUNCE_DECLARE)
#undef POUNCE_DECLARE

 private:
  explicit Api(SharedLibrary library) : library_(std::move(library)) {}
  SharedLibrary library_;
};

// "CL_OUT_OF_RESOURCES"; the number for one this build does not know.
std::string error_name(cl_int error);

// Throws Device "WHAT: CL_..." unless `error` is CL_SUCCESS; OutOfMemory where it says so.
void check(cl_int error, std::string_view what);

// Owns one reference to an OpenCL object.
template <typename Object, auto Release>
class Handle {
 public:
  Handle() = default;
  Handle(std::shared_ptr<const Api> api, Object object) : api_(std::move(api)), object_(object) {}
  Handle(Handle&& other) noexcept
      : api_(std::move(other.api_)), object_(std::exchange(other.object_, nullptr)) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(api_, other.api_);
    std::swap(object_, other.object_);
    return *this;
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() {
    if (object_ != nullptr) ((*api_).*Release)(object_);
  }

  Object get() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  std::shared_ptr<const Api> api_;
  Object object_ = nullptr;
};

using Context = Handle<cl_context, &Api::release_context>;
using Queue = Handle<cl_command_queue, &Api::release_command_queue>;
using Memory = Handle<cl_mem, &Api::release_mem_object>;
using Program = Handle<cl_program, &Api::release_program>;
using Kernel = Handle<cl_kernel, &Api::release_kernel>;
using Event = Handle<cl_event, &Api::release_event>;

}  // namespace pounce::opencl
