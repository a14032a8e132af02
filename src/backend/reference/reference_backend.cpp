#include "backend/reference/reference_backend.h"

#include "backend/host_backend.h"
#include "backend/reference/kernels.h"
#include "base/system.h"

namespace pounce {
namespace {

class ReferenceBackend final : public HostBackend {
 public:
  using HostBackend::HostBackend;

  std::string_view name() const override { return "reference"; }

 protected:
  std::span<const Implementation> implementations(OpKind op) const override {
    return reference_implementations_with_half(op);
  }
};

}  // namespace

std::unique_ptr<Backend> make_reference_backend(const BackendOptions&) {
  Target target;
  target.kind = DeviceKind::Reference;
  target.memory_bytes = size_t(total_memory_bytes());
  return std::make_unique<ReferenceBackend>(target);
}

}  // namespace pounce
