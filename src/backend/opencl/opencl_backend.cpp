#include "backend/opencl/opencl_backend.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backend/gpu/gpu_backend.h"
#include "backend/opencl/opencl_device.h"
#include "base/cache_folder.h"

namespace pounce {

std::unique_ptr<Backend> make_opencl_backend(const BackendOptions& options) {
  Result<std::shared_ptr<const opencl::Api>> api = opencl::Api::open();
  if (!api) throw api.error();
  std::vector<opencl::DeviceInfo> devices = opencl::list_devices(**api, opencl::DeviceSearch::All);
  if (devices.empty()) {
    fail_with_hint(ErrorKind::Device, "install the GPU's OpenCL driver, or use --device cpu",
                   "no OpenCL driver of this machine offers a device");
  }
  if (options.device < 0 || size_t(options.device) >= devices.size()) {
    std::vector<std::string> names;
    for (size_t i = 0; i < devices.size(); ++i) {
      names.push_back(fmt::format("opencl:{} {}", i, devices[i].name));
    }
    fail_with_hint(ErrorKind::Device, "give one of these", "there is no opencl:{}, only {}",
                   options.device, fmt::join(names, ", "));
  }
  return std::make_unique<GpuBackend>(
      opencl::open_device(*api, devices[size_t(options.device)], cache_folder()));
}

std::vector<std::string> opencl_gpus() {
  std::vector<std::string> names;
  if (!opencl::may_have_gpu()) return names;
  Result<std::shared_ptr<const opencl::Api>> api = opencl::Api::open();
  if (!api) return names;
  for (opencl::DeviceInfo& device : opencl::list_devices(**api, opencl::DeviceSearch::GpusOnly)) {
    names.push_back(std::move(device.name));
  }
  return names;
}

}  // namespace pounce
