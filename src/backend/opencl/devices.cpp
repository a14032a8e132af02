#include "backend/opencl/devices.h"

#include <algorithm>
#include <cstdlib>

#include "base/file.h"

namespace pounce::opencl {
namespace {

template <typename T>
T device_value(const Api& api, cl_device_id device, cl_device_info what) {
  T value{};
  check(api.get_device_info(device, what, sizeof value, &value, nullptr), "clGetDeviceInfo");
  return value;
}

template <typename Query>
std::string text_of(const Query& query) {
  size_t bytes = 0;
  check(query(0, nullptr, &bytes), "an OpenCL query");
  std::string text(bytes, '\0');
  check(query(bytes, text.data(), nullptr), "an OpenCL query");
  text.resize(std::min(text.find('\0'), text.size()));
  // Some drivers pad names with spaces.
  text.erase(0, text.find_first_not_of(' '));
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

std::string device_text(const Api& api, cl_device_id device, cl_device_info what) {
  return text_of([&](size_t bytes, void* text, size_t* needed) {
    return api.get_device_info(device, what, bytes, text, needed);
  });
}

DeviceInfo describe(const Api& api, cl_platform_id platform, cl_device_id device) {
  DeviceInfo info;
  info.platform = platform;
  info.id = device;
  auto type = device_value<cl_device_type>(api, device, CL_DEVICE_TYPE);
  info.is_gpu = (type & CL_DEVICE_TYPE_GPU) != 0;
  info.name = device_text(api, device, CL_DEVICE_NAME);
  info.platform_name = text_of([&](size_t bytes, void* text, size_t* needed) {
    return api.get_platform_info(platform, CL_PLATFORM_NAME, bytes, text, needed);
  });
  info.driver = device_text(api, device, CL_DRIVER_VERSION);
  info.memory_bytes = device_value<cl_ulong>(api, device, CL_DEVICE_GLOBAL_MEM_SIZE);
  info.largest_buffer_bytes = device_value<cl_ulong>(api, device, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
  info.base_alignment = device_value<cl_uint>(api, device, CL_DEVICE_MEM_BASE_ADDR_ALIGN) / 8;
  info.can_compile = device_value<cl_bool>(api, device, CL_DEVICE_AVAILABLE) == CL_TRUE &&
                     device_value<cl_bool>(api, device, CL_DEVICE_COMPILER_AVAILABLE) == CL_TRUE &&
                     device_value<cl_bool>(api, device, CL_DEVICE_ENDIAN_LITTLE) == CL_TRUE;
  return info;
}

bool has_gpu_file(const std::string& device_folder) {
  // Direct rendering (AMD, Intel, NVIDIA), NVIDIA's own, AMD's, WSL's, Arm's.
  Result<std::vector<DirectoryEntry>> entries = list_directory(device_folder);
  if (!entries) return true;  // who knows
  for (const DirectoryEntry& entry : *entries) {
    for (std::string_view name : {"nvidia0", "kfd", "dxg", "mali0"}) {
      if (entry.name == name) return true;
    }
  }
  Result<std::vector<DirectoryEntry>> render = list_directory(join_path(device_folder, "dri"));
  return render && std::any_of(render->begin(), render->end(), [](const DirectoryEntry& entry) {
           return entry.name.starts_with("renderD");
         });
}

// Whether a driver other than PoCL is registered, or could be.
bool has_gpu_driver(const std::string& driver_folder) {
  for (const char* variable : {"OCL_ICD_VENDORS", "OCL_ICD_FILENAMES", "OPENCL_VENDOR_PATH"}) {
    if (const char* value = std::getenv(variable); value != nullptr && *value != '\0') return true;
  }
  Result<std::vector<DirectoryEntry>> entries = list_directory(driver_folder);
  if (!entries) return true;  // libOpenCL may be a driver itself
  return std::any_of(entries->begin(), entries->end(), [](const DirectoryEntry& entry) {
    return entry.name.ends_with(".icd") && !entry.name.starts_with("pocl");
  });
}

}  // namespace

bool may_have_gpu(const SystemPaths& paths) {
  return has_gpu_file(paths.device_folder) && has_gpu_driver(paths.driver_folder);
}

std::vector<DeviceInfo> list_devices(const Api& api, DeviceSearch search) {
  std::vector<DeviceInfo> found;
  if (search == DeviceSearch::GpusOnly && !may_have_gpu()) return found;
  cl_uint count = 0;
  constexpr cl_int kNoPlatform = -1001;  // of the loader, where no driver is registered
  cl_int error = api.get_platform_ids(0, nullptr, &count);
  if (error == kNoPlatform || count == 0) return found;
  check(error, "clGetPlatformIDs");
  std::vector<cl_platform_id> platforms(count);
  check(api.get_platform_ids(count, platforms.data(), nullptr), "clGetPlatformIDs");
  cl_device_type types = search == DeviceSearch::GpusOnly ? CL_DEVICE_TYPE_GPU : CL_DEVICE_TYPE_ALL;
  for (cl_platform_id platform : platforms) {
    // A platform that has none says CL_DEVICE_NOT_FOUND; a broken one must not hide the others.
    if (api.get_device_ids(platform, types, 0, nullptr, &count) != CL_SUCCESS) continue;
    std::vector<cl_device_id> ids(count);
    if (api.get_device_ids(platform, types, count, ids.data(), nullptr) != CL_SUCCESS) continue;
    for (cl_device_id id : ids) {
      DeviceInfo info = describe(api, platform, id);
      if (info.can_compile) found.push_back(std::move(info));
    }
  }
  std::stable_partition(found.begin(), found.end(),
                        [](const DeviceInfo& info) { return info.is_gpu; });
  return found;
}

}  // namespace pounce::opencl
