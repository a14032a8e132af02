#include "train/device.h"

#include "backend/registry.h"
#include "base/error.h"

namespace pounce {

OpenDevice open_device(const std::string& name, int threads) {
  // The reference backend is for tests and for who asks for it by name; messages leave it out.
  if (name != "auto" && name != "cpu" && name != "reference") {
    fail_with_hint(ErrorKind::Device, "leave --device out, or give --device cpu",
                   "device \"{}\" cannot be used: this build computes on: cpu", name);
  }
  std::string backend = name == "auto" ? "cpu" : name;
  OpenDevice device{make_backend(backend, {.threads = threads}), ""};
  int used = device.backend->target().threads;
  device.description = fmt::format("{}, {} thread{}", backend, used, used == 1 ? "" : "s");
  return device;
}

}  // namespace pounce
