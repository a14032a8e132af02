// What the backends that run on the host's own memory share: buffers, copies, and a Program that
// calls one kernel after the other.
#pragma once

#include "backend/backend.h"
#include "backend/implementation.h"
#include "backend/lowering.h"

namespace pounce {

class HostBackend : public Backend {
 public:
  explicit HostBackend(Target target);

  const Target& target() const override { return target_; }
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
  void synchronize() override {}
  MemoryInfo memory_info() const override;

 protected:
  // Best first; the last one always works. Empty: the op is not supported.
  virtual std::span<const Implementation> implementations(OpKind op) const = 0;

 private:
  Lowering<Implementation> lowering(const Target& target) const;

  Target target_;
  std::shared_ptr<struct HostMemoryCount> memory_;
};

}  // namespace pounce
