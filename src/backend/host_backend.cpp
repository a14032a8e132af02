#include "backend/host_backend.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "base/error.h"

namespace pounce {

// Outlives the backend where a buffer does.
struct HostMemoryCount {
  size_t allocated_bytes = 0;
  size_t peak_bytes = 0;
};

namespace {

class HostBuffer final : public Buffer {
 public:
  HostBuffer(std::byte* data, size_t bytes, std::shared_ptr<HostMemoryCount> count)
      : data_(data), bytes_(bytes), count_(std::move(count)) {
    count_->allocated_bytes += bytes_;
    count_->peak_bytes = std::max(count_->peak_bytes, count_->allocated_bytes);
  }
  ~HostBuffer() override {
    count_->allocated_bytes -= bytes_;
    ::operator delete(data_, std::align_val_t(kPlacementAlignment));
  }
  HostBuffer(const HostBuffer&) = delete;
  HostBuffer& operator=(const HostBuffer&) = delete;

  size_t bytes() const override { return bytes_; }
  std::byte* data() const { return data_; }

 private:
  std::byte* data_;
  size_t bytes_;
  std::shared_ptr<HostMemoryCount> count_;
};

// The bytes [offset, offset + bytes) of a buffer this backend made.
std::byte* range_of(const Buffer& buffer, size_t offset, size_t bytes) {
  auto* host = dynamic_cast<const HostBuffer*>(&buffer);
  POUNCE_ASSERT(host != nullptr);
  POUNCE_ASSERT(offset <= host->bytes() && bytes <= host->bytes() - offset);
  return host->data() + offset;
}

// One kernel with its operands: placed at compile time, pointed to at each run.
struct Step {
  std::string label;
  HostKernel kernel;
  std::vector<Placement> inputs, outputs, released;
  Placement workspace;
  std::vector<const void*> input_pointers;
  std::vector<void*> output_pointers;
};

class HostProgram final : public Executable {
 public:
  std::vector<Step> steps;
  size_t arena_bytes[3] = {};  // by Arena
};

// Start addresses of the arenas of a run.
class Arenas {
 public:
  Arenas(const Bindings& bindings, const HostProgram& program) {
    bind(Arena::Persistent, bindings.persistent, program);
    bind(Arena::Planned, bindings.planned, program);
    bind(Arena::Staging, bindings.staging, program);
  }

  void* at(const Placement& placement) const {
    if (placement.bytes == 0) return nullptr;
    return starts_[size_t(placement.arena)] + placement.offset;
  }

 private:
  void bind(Arena arena, Buffer* buffer, const HostProgram& program) {
    size_t needed = program.arena_bytes[size_t(arena)];
    if (buffer != nullptr) {
      starts_[size_t(arena)] = range_of(*buffer, 0, needed);
    } else {
      POUNCE_ASSERT(needed == 0);
    }
  }

  std::byte* starts_[3] = {};
};

std::vector<Placement> placements_of(const Plan& plan, const std::vector<Value>& values) {
  std::vector<Placement> placements;
  for (Value value : values) placements.push_back(plan.values.at(size_t(value.id)));
  return placements;
}

}  // namespace

HostBackend::HostBackend(Target target)
    : target_(std::move(target)), memory_(std::make_shared<HostMemoryCount>()) {}

Lowering<Implementation> HostBackend::lowering(const Target& target) const {
  return {name(), target, this, [](const void* self, OpKind op) {
            return static_cast<const HostBackend*>(self)->implementations(op);
          }};
}

std::optional<std::string> HostBackend::supports(const Graph& graph, const Node& node,
                                                 const Target& target) const {
  return lowering(target).supports(graph, node);
}

LoweredGraph HostBackend::lower(const Graph& graph, const Target& target) const {
  return lowering(target).lower(graph);
}

std::unique_ptr<Buffer> HostBackend::allocate(size_t bytes) {
  // The system promises more memory than there is, and kills whoever uses it.
  size_t total = target_.memory_bytes;
  bool fits = total == 0 || bytes <= total - std::min(total, memory_->allocated_bytes);
  void* data = nullptr;
  if (fits) {
    data = ::operator new(std::max(bytes, size_t{1}), std::align_val_t(kPlacementAlignment),
                          std::nothrow);
  }
  if (data == nullptr) {
    fail_with_hint(ErrorKind::OutOfMemory, "use a smaller batch or smaller images",
                   "{} bytes asked for, {} of {} bytes of memory already in use by Pounce", bytes,
                   memory_->allocated_bytes, total == 0 ? "unknown" : std::to_string(total));
  }
  return std::make_unique<HostBuffer>(static_cast<std::byte*>(data), bytes, memory_);
}

std::unique_ptr<Executable> HostBackend::compile(const Graph& graph, const LoweredGraph& lowered,
                                                 const Plan& plan, const CompileOptions& options) {
  auto program = std::make_unique<HostProgram>();
  program->arena_bytes[size_t(Arena::Persistent)] = plan.persistent_bytes;
  program->arena_bytes[size_t(Arena::Planned)] = plan.planned_bytes;
  program->arena_bytes[size_t(Arena::Staging)] = plan.staging_bytes;
  POUNCE_ASSERT(lowered.nodes.size() == graph.nodes().size());
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    const Node& node = graph.nodes()[i];
    if (is_leaf(node.op)) continue;
    Step& step = program->steps.emplace_back();
    step.label = fmt::format("in {} ({})", graph.describe(node), op_info(node.op).name);
    step.inputs = placements_of(plan, node.inputs);
    step.outputs = placements_of(plan, node.outputs);
    step.workspace = plan.workspaces.at(i);
    if (options.poison) step.released = plan.released.at(i);
    step.input_pointers.resize(step.inputs.size());
    step.output_pointers.resize(step.outputs.size());

    const Implementation& chosen =
        lowering(target_).find(graph, node, lowered.nodes[i].implementation);
    step.kernel = chosen.make({graph, node, target_});
  }
  return program;
}

void HostBackend::upload(Buffer& destination, size_t offset, std::span<const std::byte> source) {
  std::byte* to = range_of(destination, offset, source.size());
  if (!source.empty()) std::memcpy(to, source.data(), source.size());
}

void HostBackend::download(const Buffer& source, size_t offset, std::span<std::byte> destination) {
  const std::byte* from = range_of(source, offset, destination.size());
  if (!destination.empty()) std::memcpy(destination.data(), from, destination.size());
}

void HostBackend::copy(Buffer& destination, size_t destination_offset, const Buffer& source,
                       size_t source_offset, size_t bytes) {
  std::memmove(range_of(destination, destination_offset, bytes),
               range_of(source, source_offset, bytes), bytes);
}

void HostBackend::run(Executable& executable, const Bindings& bindings) {
  auto* program = dynamic_cast<HostProgram*>(&executable);
  POUNCE_ASSERT(program != nullptr);
  Arenas arenas(bindings, *program);
  SingleProcess alone;
  Communicator* communicator = bindings.communicator ? bindings.communicator : &alone;
  for (Step& step : program->steps) {
    auto address = [&](const Placement& placement) { return arenas.at(placement); };
    std::transform(step.inputs.begin(), step.inputs.end(), step.input_pointers.begin(), address);
    std::transform(step.outputs.begin(), step.outputs.end(), step.output_pointers.begin(), address);
    try {
      step.kernel({step.input_pointers, step.output_pointers, arenas.at(step.workspace),
                   target_.threads, communicator});
    } catch (Error& error) {
      error.add_context(step.label);
      throw;
    }
    for (const Placement& free : step.released) {
      if (free.bytes != 0) std::memset(arenas.at(free), 0xFF, free.bytes);
    }
  }
}

MemoryInfo HostBackend::memory_info() const {
  return {.total_bytes = target_.memory_bytes,
          .free_bytes = 0,
          .allocated_bytes = memory_->allocated_bytes,
          .peak_bytes = memory_->peak_bytes};
}

}  // namespace pounce
