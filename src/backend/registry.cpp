#include "backend/registry.h"

#include <array>

#include "backend/cpu/cpu_backend.h"
#include "backend/opencl/opencl_backend.h"
#include "backend/reference/reference_backend.h"
#include "base/error.h"

namespace pounce {
namespace {

struct Entry {
  std::string_view name;
  std::unique_ptr<Backend> (*make)(const BackendOptions&);
};

constexpr std::array kBackends = {
    Entry{"cpu", make_cpu_backend},
    Entry{"opencl", make_opencl_backend},
    Entry{"reference", make_reference_backend},
};

}  // namespace

std::unique_ptr<Backend> make_backend(std::string_view name, const BackendOptions& options) {
  for (const Entry& entry : kBackends) {
    if (entry.name == name) return entry.make(options);
  }
  fail(ErrorKind::Unsupported, "backend \"{}\" is not in this build, which has {}", name,
       fmt::join(backend_names(), ", "));
}

std::vector<std::string_view> backend_names() {
  std::vector<std::string_view> names;
  for (const Entry& entry : kBackends) names.push_back(entry.name);
  return names;
}

std::vector<FoundGpu> find_gpus() {
  std::vector<FoundGpu> found;
  for (std::string& name : opencl_gpus()) {
    found.push_back({"opencl", int(found.size()), std::move(name)});
  }
  return found;
}

}  // namespace pounce
