#include "backend/gpu/gpu_backend.h"

#include <map>
#include <type_traits>

#include "backend/kernels/texts.h"
#include "base/error.h"

namespace pounce {
namespace {

class GpuProgram final : public Executable {
 public:
  std::unique_ptr<Executable> sequence;
  size_t arena_bytes[3] = {};  // by Arena
  bool sums_over_ranks = false;
};

// Whether the plan lets output 0 lie where input 0 does.
bool is_done_in_place(const Plan& plan, const Node& node) {
  return plan.values.at(size_t(node.inputs.at(0).id)) ==
         plan.values.at(size_t(node.outputs.at(0).id));
}

// A graph's nodes to one sequence: every distinct source once, every operand at its place.
class SequenceBuilder {
 public:
  SequenceBuilder(const Graph& graph, const Plan& plan, std::string_view dialect)
      : graph_(graph), plan_(plan), dialect_(dialect) {}

  void add_node(size_t index, const std::vector<kernels::Launch>& launches) {
    for (const kernels::Launch& launch : launches) add_launch(index, launch);
  }

  void add_poison(const Placement& where) {
    if (where.bytes != 0) sequence_.commands.emplace_back(GpuPoison{where});
  }

  GpuSequence take() { return std::move(sequence_); }

 private:
  using ModuleKey = std::pair<kernels::Program, int>;

  void add_launch(size_t index, const kernels::Launch& launch) {
    for (int64_t groups : launch.groups) {
      if (groups == 0) return;
    }
    const Node& node = graph_.nodes()[index];
    GpuLaunch bound;
    bound.label = fmt::format("in {} ({})", graph_.describe(node), op_info(node.op).name);
    bound.source = source_of(launch);
    bound.entry = launch.entry;
    bound.groups = launch.groups;
    bound.items = launch.items;
    for (const kernels::Argument& argument : launch.arguments) {
      bound.arguments.push_back(std::visit(
          [&](auto value) -> GpuArgument {
            if constexpr (std::is_same_v<decltype(value), kernels::Operand>) {
              return place(index, value);
            } else {
              return value;
            }
          },
          argument));
    }
    sequence_.commands.emplace_back(std::move(bound));
  }

  Placement place(size_t index, const kernels::Operand& operand) const {
    using Kind = kernels::Operand::Kind;
    const Node& node = graph_.nodes()[index];
    Placement where;
    switch (operand.kind) {
      case Kind::Input:
        where = plan_.values.at(size_t(node.inputs.at(operand.index).id));
        break;
      case Kind::Output:
        where = plan_.values.at(size_t(node.outputs.at(operand.index).id));
        break;
      case Kind::Workspace:
        where = plan_.workspaces.at(index);
        break;
    }
    POUNCE_ASSERT(operand.offset <= where.bytes);
    where.offset += operand.offset;
    where.bytes -= operand.offset;
    return where;
  }

  size_t source_of(const kernels::Launch& launch) {
    auto [at, is_new] =
        known_.try_emplace(ModuleKey{launch.program, launch.items}, sequence_.sources.size());
    if (is_new) {
      sequence_.sources.push_back(
          {launch.program.file, kernels::module_text(launch.program, launch.items, dialect_)});
    }
    return at->second;
  }

  const Graph& graph_;
  const Plan& plan_;
  std::string_view dialect_;
  std::map<ModuleKey, size_t> known_;
  GpuSequence sequence_;
};

}  // namespace

GpuBackend::GpuBackend(std::unique_ptr<GpuDevice> device, Kernels kernels)
    : device_(std::move(device)), kernels_(kernels) {}

Lowering<kernels::Implementation> GpuBackend::lowering(const Target& target) const {
  return {name(), target, this, [](const void* self, OpKind op) {
            return static_cast<const GpuBackend*>(self)->kernels_(op);
          }};
}

std::optional<std::string> GpuBackend::supports(const Graph& graph, const Node& node,
                                                const Target& target) const {
  return lowering(target).supports(graph, node);
}

LoweredGraph GpuBackend::lower(const Graph& graph, const Target& target) const {
  return lowering(target).lower(graph);
}

std::unique_ptr<Buffer> GpuBackend::allocate(size_t bytes) {
  return device_->allocate(bytes);
}

std::unique_ptr<Executable> GpuBackend::compile(const Graph& graph, const LoweredGraph& lowered,
                                                const Plan& plan, const CompileOptions& options) {
  POUNCE_ASSERT(lowered.nodes.size() == graph.nodes().size());
  auto program = std::make_unique<GpuProgram>();
  program->arena_bytes[size_t(Arena::Persistent)] = plan.persistent_bytes;
  program->arena_bytes[size_t(Arena::Planned)] = plan.planned_bytes;
  program->arena_bytes[size_t(Arena::Staging)] = plan.staging_bytes;
  SequenceBuilder builder(graph, plan, device_->name());
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    const Node& node = graph.nodes()[i];
    if (is_leaf(node.op)) continue;
    const kernels::Implementation& chosen =
        lowering(target()).find(graph, node, lowered.nodes[i].implementation);
    if (!(chosen.name == kernels::kCopy && is_done_in_place(plan, node))) {
      builder.add_node(i, chosen.launches({graph, node, target()}));
    }
    if (node.op == OpKind::AllReduce) program->sums_over_ranks = true;
    if (!options.poison) continue;
    for (const Placement& free : plan.released.at(i)) builder.add_poison(free);
  }
  program->sequence = device_->prepare(builder.take());
  return program;
}

void GpuBackend::upload(Buffer& destination, size_t offset, std::span<const std::byte> source) {
  POUNCE_ASSERT(offset <= destination.bytes() && source.size() <= destination.bytes() - offset);
  if (!source.empty()) device_->write(destination, offset, source);
}

void GpuBackend::download(const Buffer& source, size_t offset, std::span<std::byte> destination) {
  POUNCE_ASSERT(offset <= source.bytes() && destination.size() <= source.bytes() - offset);
  if (!destination.empty()) device_->read(source, offset, destination);
}

void GpuBackend::copy(Buffer& destination, size_t destination_offset, const Buffer& source,
                      size_t source_offset, size_t bytes) {
  POUNCE_ASSERT(source_offset <= source.bytes() && bytes <= source.bytes() - source_offset);
  POUNCE_ASSERT(destination_offset <= destination.bytes() &&
                bytes <= destination.bytes() - destination_offset);
  if (bytes != 0) device_->copy(destination, destination_offset, source, source_offset, bytes);
}

void GpuBackend::run(Executable& executable, const Bindings& bindings) {
  auto* program = dynamic_cast<GpuProgram*>(&executable);
  POUNCE_ASSERT(program != nullptr);
  const Buffer* arenas[] = {bindings.persistent, bindings.planned, bindings.staging};
  static_assert(size_t(Arena::Persistent) == 0 && size_t(Arena::Staging) == 2);
  for (size_t arena = 0; arena < 3; ++arena) {
    size_t bytes = arenas[arena] == nullptr ? 0 : arenas[arena]->bytes();
    POUNCE_ASSERT(bytes >= program->arena_bytes[arena]);
  }
  if (program->sums_over_ranks && bindings.communicator && bindings.communicator->world() > 1) {
    fail_with_hint(ErrorKind::Unsupported, "train with one process, or use --device cpu",
                   "the {} backend sums over one process, {} were started", name(),
                   bindings.communicator->world());
  }
  device_->run(*program->sequence, bindings);
}

}  // namespace pounce
