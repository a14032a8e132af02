#include "backend/cpu/cpu_backend.h"

#include <dnnl.hpp>
#include <fmt/format.h>
#include <hwy/targets.h>

#include "backend/cpu/kernels.h"
#include "backend/host_backend.h"
#include "base/system.h"

namespace pounce {
namespace {

class CpuBackend final : public HostBackend {
 public:
  using HostBackend::HostBackend;

  std::string_view name() const override { return "cpu"; }

 protected:
  std::span<const Implementation> implementations(OpKind op) const override {
    return cpu::implementations(op);
  }
};

CpuIsa widest_isa() {
  int64_t targets = hwy::SupportedTargets();
  if (targets & HWY_AVX3) return CpuIsa::Avx512;
  if (targets & HWY_AVX2) return CpuIsa::Avx2;
  if (targets & HWY_NEON) return CpuIsa::Neon;
  return CpuIsa::Baseline;
}

int threads_of(const BackendOptions& options) {
#ifdef _OPENMP
  return options.threads > 0 ? options.threads : usable_cores();
#else
  (void)options;
  return 1;
#endif
}

}  // namespace

std::unique_ptr<Backend> make_cpu_backend(const BackendOptions& options) {
  Target target;
  target.kind = DeviceKind::Cpu;
  target.isa = widest_isa();
  target.threads = threads_of(options);
  target.direct_convolutions = options.direct_convolutions;
  target.memory_bytes = size_t(total_memory_bytes());
  const dnnl_version_t* version = dnnl::version();
  target.libraries = fmt::format("oneDNN {}.{}.{}", version->major, version->minor, version->patch);
  return std::make_unique<CpuBackend>(target);
}

}  // namespace pounce
