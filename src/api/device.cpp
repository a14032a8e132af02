#include "pounce/device.h"

#include "api/device_state.h"

namespace pounce {
namespace {

constexpr int kMostThreads = 1024;

std::shared_ptr<DeviceState> open(const std::string& name, int threads) {
  if (threads < 0 || threads > kMostThreads) {
    fail(ErrorKind::InvalidArgument, "a device of {} threads was asked for, expected 0 to {}",
         threads, kMostThreads);
  }
  OpenDevice opened = open_device(name, {.threads = threads});
  std::string backend(opened.backend->name());
  return std::make_shared<DeviceState>(DeviceState{std::move(backend), std::move(opened)});
}

}  // namespace

Device::Device(const std::string& name, int threads) : state_(open(name, threads)) {}

Device::Device(std::shared_ptr<DeviceState> state) : state_(std::move(state)) {}

std::string Device::name() const {
  return Access::state(*this, "Device")->name;
}

std::string Device::description() const {
  return Access::state(*this, "Device")->open.description;
}

int Device::threads() const {
  return Access::state(*this, "Device")->backend().target().threads;
}

int64_t Device::allocated_bytes() const {
  return int64_t(Access::state(*this, "Device")->backend().memory_info().allocated_bytes);
}

bool Device::operator==(const Device& other) const {
  return Access::state(*this, "Device") == Access::state(other, "Device");
}

}  // namespace pounce
