#include "backend/opencl/opencl_device.h"

#include <algorithm>

#include <fmt/format.h>

#include "backend/opencl/buffer.h"
#include "backend/opencl/programs.h"
#include "backend/opencl/sequence.h"
#include "backend/opencl/transfer_ring.h"

namespace pounce::opencl {
namespace {

DeviceBuffer& buffer_of(Buffer& buffer) {
  auto* mine = dynamic_cast<DeviceBuffer*>(&buffer);
  POUNCE_ASSERT(mine != nullptr);
  return *mine;
}

const DeviceBuffer& buffer_of(const Buffer& buffer) {
  auto* mine = dynamic_cast<const DeviceBuffer*>(&buffer);
  POUNCE_ASSERT(mine != nullptr);
  return *mine;
}

Target target_of(const DeviceInfo& info) {
  Target target;
  target.kind = DeviceKind::OpenCl;
  target.memory_bytes = info.memory_bytes;
  target.placement_alignment = std::max(kPlacementAlignment, info.base_alignment);
  target.device = info.name;
  target.libraries = fmt::format("{}, driver {}", info.platform_name, info.driver);
  return target;
}

class OpenClDevice final : public GpuDevice {
 public:
  OpenClDevice(std::shared_ptr<const Api> api, const DeviceInfo& info, ProgramCache cache)
      : target_(target_of(info)),
        runtime_(open_runtime(std::move(api), info)),
        programs_(runtime_, std::move(cache)),
        ring_(runtime_) {}

  // Buffers and programs may live on; nothing of theirs is in a queue any more.
  ~OpenClDevice() override {
    runtime_->api->finish(runtime_->transfers.get());
    runtime_->api->finish(runtime_->compute.get());
  }

  std::string_view name() const override { return "opencl"; }
  const Target& target() const override { return target_; }

  std::unique_ptr<Buffer> allocate(size_t bytes) override {
    return std::make_unique<DeviceBuffer>(runtime_, bytes);
  }

  std::unique_ptr<Executable> prepare(GpuSequence sequence) override {
    return std::make_unique<Sequence>(runtime_, programs_, std::move(sequence));
  }

  void run(Executable& sequence, const Bindings& bindings) override {
    auto* mine = dynamic_cast<Sequence*>(&sequence);
    POUNCE_ASSERT(mine != nullptr);
    Sequence::Arenas arenas{};
    Buffer* given[] = {bindings.persistent, bindings.planned, bindings.staging};
    for (size_t i = 0; i < arenas.size(); ++i) {
      if (given[i] == nullptr) continue;
      arenas[i] = &buffer_of(*given[i]);
      wait_for_arrivals(*arenas[i]);
    }
    try {
      mine->enqueue(arenas);
    } catch (const Error&) {
      runtime_->api->finish(runtime_->compute.get());  // what was queued uses the arenas
      throw;
    }
    EventRef end = mark();
    for (DeviceBuffer* arena : arenas) {
      if (arena != nullptr) arena->last_use = end;
    }
    check(runtime_->api->flush(runtime_->compute.get()), "clFlush");
  }

  void write(Buffer& destination, size_t offset, std::span<const std::byte> source) override {
    ring_.upload(buffer_of(destination), offset, source);
  }

  void read(const Buffer& source, size_t offset, std::span<std::byte> destination) override {
    const DeviceBuffer& from = buffer_of(source);
    wait_for_arrivals(from);
    check(runtime_->api->enqueue_read_buffer(runtime_->compute.get(), from.memory(), CL_TRUE,
                                             offset, destination.size(), destination.data(), 0,
                                             nullptr, nullptr),
          fmt::format("reading results of {}", target_.device));
  }

  void copy(Buffer& destination, size_t destination_offset, const Buffer& source,
            size_t source_offset, size_t bytes) override {
    DeviceBuffer& to = buffer_of(destination);
    const DeviceBuffer& from = buffer_of(source);
    wait_for_arrivals(to);
    wait_for_arrivals(from);
    check(runtime_->api->enqueue_copy_buffer(runtime_->compute.get(), from.memory(), to.memory(),
                                             source_offset, destination_offset, bytes, 0, nullptr,
                                             nullptr),
          "clEnqueueCopyBuffer");
    to.last_use = from.last_use = mark();
    check(runtime_->api->flush(runtime_->compute.get()), "clFlush");
  }

  void synchronize() override {
    check(runtime_->api->finish(runtime_->transfers.get()), "waiting for transfers");
    check(runtime_->api->finish(runtime_->compute.get()),
          fmt::format("waiting for {}", target_.device));
  }

  MemoryInfo memory_info() const override {
    return {.total_bytes = target_.memory_bytes,
            .free_bytes = 0,
            .allocated_bytes = runtime_->allocated_bytes,
            .peak_bytes = runtime_->peak_bytes};
  }

 private:
  // The compute queue goes on when what was uploaded is there.
  void wait_for_arrivals(const DeviceBuffer& buffer) {
    std::vector<cl_event> arrivals = list_of({buffer.last_arrival});
    if (arrivals.empty()) return;
    check(runtime_->api->enqueue_barrier_with_wait_list(
              runtime_->compute.get(), cl_uint(arrivals.size()), arrivals.data(), nullptr),
          "clEnqueueBarrierWithWaitList");
    buffer.last_arrival = nullptr;
  }

  // Ends when everything in the compute queue before it has.
  EventRef mark() {
    cl_event event = nullptr;
    check(runtime_->api->enqueue_marker_with_wait_list(runtime_->compute.get(), 0, nullptr, &event),
          "clEnqueueMarkerWithWaitList");
    return runtime_->own(event);
  }

  Target target_;
  std::shared_ptr<Runtime> runtime_;
  Programs programs_;
  TransferRing ring_;
};

}  // namespace

std::unique_ptr<GpuDevice> open_device(std::shared_ptr<const Api> api, const DeviceInfo& info,
                                       const std::string& cache_folder) {
  return std::make_unique<OpenClDevice>(std::move(api), info, ProgramCache(cache_folder));
}

}  // namespace pounce::opencl
