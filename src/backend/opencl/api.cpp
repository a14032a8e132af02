#include "backend/opencl/api.h"

#include <fmt/format.h>

namespace pounce::opencl {

Result<std::shared_ptr<const Api>> Api::open() {
  constexpr const char* kHint = "install the GPU's driver, or use --device cpu";
  Result<SharedLibrary> library = SharedLibrary::open("libOpenCL.so.1");
  if (!library) {
    return tl::make_unexpected(
        Error(ErrorKind::Device, "OpenCL is not installed: " + library.error().message(), kHint));
  }
  std::shared_ptr<Api> api(new Api(std::move(*library)));
  const char* missing = nullptr;
#define POUNCE_FIND(member, name) \
  if (!api->library_.find(#name, api->member)) missing = #name;
  POUNCE_OPENCL_FUNCTIONS(POUNCE_FIND)
#undef POUNCE_FIND
  if (missing == nullptr) return api;
  return tl::make_unexpected(
      Error(ErrorKind::Device,
            fmt::format("libOpenCL.so.1 has no {}: OpenCL 1.2 is needed", missing), kHint));
}

std::string error_name(cl_int error) {
  switch (error) {
#define POUNCE_NAME(name) \
  case name:              \
    return #name;
    POUNCE_NAME(CL_SUCCESS)
    POUNCE_NAME(CL_DEVICE_NOT_FOUND)
    POUNCE_NAME(CL_DEVICE_NOT_AVAILABLE)
    POUNCE_NAME(CL_COMPILER_NOT_AVAILABLE)
    POUNCE_NAME(CL_MEM_OBJECT_ALLOCATION_FAILURE)
    POUNCE_NAME(CL_OUT_OF_RESOURCES)
    POUNCE_NAME(CL_OUT_OF_HOST_MEMORY)
    POUNCE_NAME(CL_MEM_COPY_OVERLAP)
    POUNCE_NAME(CL_BUILD_PROGRAM_FAILURE)
    POUNCE_NAME(CL_MAP_FAILURE)
    POUNCE_NAME(CL_MISALIGNED_SUB_BUFFER_OFFSET)
    POUNCE_NAME(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST)
    POUNCE_NAME(CL_COMPILE_PROGRAM_FAILURE)
    POUNCE_NAME(CL_LINKER_NOT_AVAILABLE)
    POUNCE_NAME(CL_LINK_PROGRAM_FAILURE)
    POUNCE_NAME(CL_INVALID_VALUE)
    POUNCE_NAME(CL_INVALID_DEVICE_TYPE)
    POUNCE_NAME(CL_INVALID_PLATFORM)
    POUNCE_NAME(CL_INVALID_DEVICE)
    POUNCE_NAME(CL_INVALID_CONTEXT)
    POUNCE_NAME(CL_INVALID_COMMAND_QUEUE)
    POUNCE_NAME(CL_INVALID_MEM_OBJECT)
    POUNCE_NAME(CL_INVALID_BINARY)
    POUNCE_NAME(CL_INVALID_BUILD_OPTIONS)
    POUNCE_NAME(CL_INVALID_PROGRAM)
    POUNCE_NAME(CL_INVALID_PROGRAM_EXECUTABLE)
    POUNCE_NAME(CL_INVALID_KERNEL_NAME)
    POUNCE_NAME(CL_INVALID_KERNEL_DEFINITION)
    POUNCE_NAME(CL_INVALID_KERNEL)
    POUNCE_NAME(CL_INVALID_ARG_INDEX)
    POUNCE_NAME(CL_INVALID_ARG_VALUE)
    POUNCE_NAME(CL_INVALID_ARG_SIZE)
    POUNCE_NAME(CL_INVALID_KERNEL_ARGS)
    POUNCE_NAME(CL_INVALID_WORK_DIMENSION)
    POUNCE_NAME(CL_INVALID_WORK_GROUP_SIZE)
    POUNCE_NAME(CL_INVALID_WORK_ITEM_SIZE)
    POUNCE_NAME(CL_INVALID_GLOBAL_OFFSET)
    POUNCE_NAME(CL_INVALID_EVENT_WAIT_LIST)
    POUNCE_NAME(CL_INVALID_EVENT)
    POUNCE_NAME(CL_INVALID_OPERATION)
    POUNCE_NAME(CL_INVALID_BUFFER_SIZE)
    POUNCE_NAME(CL_INVALID_GLOBAL_WORK_SIZE)
#undef POUNCE_NAME
    case -1001:
      return "CL_PLATFORM_NOT_FOUND_KHR";
    default:
      return fmt::format("OpenCL error {}", error);
  }
}

void check(cl_int error, std::string_view what) {
  if (error == CL_SUCCESS) return;
  bool is_memory = error == CL_MEM_OBJECT_ALLOCATION_FAILURE || error == CL_OUT_OF_HOST_MEMORY;
  if (is_memory) {
    fail_with_hint(ErrorKind::OutOfMemory, "use a smaller batch or smaller images", "{}: {}", what,
                   error_name(error));
  }
  fail_with_hint(ErrorKind::Device, "use --device cpu, or another device", "{}: {}", what,
                 error_name(error));
}

}  // namespace pounce::opencl
