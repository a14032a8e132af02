#include "train/device.h"

#include "backend/registry.h"
#include "base/error.h"

namespace pounce {

OpenDevice open_device(const std::string& name, int threads) {
  if (name != "auto" && name != "cpu") {
    fail_with_hint(ErrorKind::Device, "leave --device out, or give --device cpu",
                   "device \"{}\" cannot be used: this build computes on: cpu", name);
  }
  OpenDevice device{make_backend("cpu", {.threads = threads}), ""};
  int used = device.backend->target().threads;
  device.description = fmt::format("cpu, {} thread{}", used, used == 1 ? "" : "s");
  return device;
}

}  // namespace pounce
