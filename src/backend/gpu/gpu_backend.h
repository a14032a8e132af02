// The backend of every GPU: lowers to the shared kernels, binds their launches to the plan's memory
// and leaves the rest to a GpuDevice.
#pragma once

#include "backend/gpu/gpu_device.h"
#include "backend/kernels/launch.h"
#include "backend/lowering.h"

namespace pounce {

class GpuBackend final : public Backend {
 public:
  using Kernels = std::span<const kernels::Implementation> (*)(OpKind op);

  // `kernels`: other lists than those of src/backend/kernels are for tests.
  explicit GpuBackend(std::unique_ptr<GpuDevice> device,
                      Kernels kernels = kernels::implementations);

  std::string_view name() const override { return device_->name(); }
  const Target& target() const override { return device_->target(); }
  std::optional<std::string> supports(const Graph& graph, const Node& node,
                                      const Target& target) const override;
  LoweredGraph lower(const Graph& graph, const Target& target) const override;
  std::unique_ptr<Buffer> allocate(size_t bytes) override;
  std::unique_ptr<Executable> compile(const Graph& graph, const LoweredGraph& lowered,
                                      const Plan& plan, const CompileOptions& options) override;
  void upload(Buffer& destination, size_t offset, std::span<const std::byte> source) override;
  void download(const Buffer& source, size_t offset, std::span<std::byte> destination) override;
  void copy(Buffer& destination, size_t destination_offset, const Buffer& source,
            size_t source_offset, size_t bytes) override;
  void run(Executable& executable, const Bindings& bindings) override;
  void synchronize() override { device_->synchronize(); }
  MemoryInfo memory_info() const override { return device_->memory_info(); }

 private:
  Lowering<kernels::Implementation> lowering(const Target& target) const;

  std::unique_ptr<GpuDevice> device_;
  Kernels kernels_;
};

}  // namespace pounce
