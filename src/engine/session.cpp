#include "engine/session.h"

#include <algorithm>

#include "base/error.h"

namespace pounce {
namespace {

// In pieces, so that the host needs no second copy of an arena.
void fill(Backend& backend, Buffer& buffer, std::byte value) {
  constexpr size_t kPieceBytes = size_t{1} << 20;
  std::vector<std::byte> piece(std::min(buffer.bytes(), kPieceBytes), value);
  for (size_t at = 0; at < buffer.bytes(); at += piece.size()) {
    size_t bytes = std::min(piece.size(), buffer.bytes() - at);
    backend.upload(buffer, at, std::span(piece).first(bytes));
  }
}

size_t size_of(const std::unique_ptr<Buffer>& buffer) {
  return buffer ? buffer->bytes() : 0;
}

// Of ranges by their starts, forgets those that share a byte with the given one.
void forget_range(std::map<size_t, std::vector<std::byte>>& ranges, size_t start, size_t bytes) {
  std::erase_if(ranges, [&](const auto& range) {
    return range.first < start + bytes && start < range.first + range.second.size();
  });
}

}  // namespace

struct Session::Program {
  std::string name;
  Graph graph;
  LoweredGraph lowered;
  Plan plan;
  std::vector<PassReport> reports;
  std::unique_ptr<Executable> executable;
};

Session::Session(Backend& backend, Communicator& communicator,
                 const std::vector<NamedGraph>& graphs, SessionOptions options)
    : backend_(backend), communicator_(communicator), options_(std::move(options)) {
  options_.plan.alignment = backend_.target().placement_alignment;
  for (const NamedGraph& named : graphs) {
    if (!programs_.emplace(named.name, build(named)).second) {
      fail(ErrorKind::InvalidArgument, "two programs are called \"{}\"", named.name);
    }
  }
  std::vector<const Graph*> all;
  for (const NamedGraph& named : graphs) all.push_back(&find(named.name).graph);
  variables_ = lay_out_variables(all, options_.plan.alignment);
  for (const Graph* graph : all) {
    for (const Node& node : graph->nodes()) {
      if (node.op == OpKind::Variable) {
        variable_types_.emplace(node.name, graph->type(node.outputs[0]));
      }
    }
  }
  persistent_ = backend_.allocate(variables_.bytes);
  fill(backend_, *persistent_, std::byte{0});
  // Plans first, so that every arena is allocated once.
  Plan largest;
  for (auto& [name, program] : programs_) {
    program->plan = plan_memory(program->graph, program->lowered, variables_, options_.plan);
    largest.planned_bytes = std::max(largest.planned_bytes, program->plan.planned_bytes);
    largest.staging_bytes = std::max(largest.staging_bytes, program->plan.staging_bytes);
  }
  reserve(largest);
  for (auto& [name, program] : programs_) finish(*program);
}

Session::~Session() = default;

std::unique_ptr<Session::Program> Session::build(const NamedGraph& named) {
  auto program = std::make_unique<Program>();
  program->name = named.name;
  PassOptions passes = options_.passes;
  passes.supports = [&](const Graph& graph, const Node& node) {
    return !backend_.supports(graph, node, backend_.target());
  };
  try {
    program->graph = run_passes(named.graph, passes, &program->reports);
    program->lowered = backend_.lower(program->graph, backend_.target());
  } catch (Error& error) {
    error.add_context(fmt::format("while building program \"{}\"", named.name));
    throw;
  }
  return program;
}

void Session::finish(Program& program) {
  if (options_.check_plan) check_plan(program.graph, program.lowered, program.plan);
  program.executable =
      backend_.compile(program.graph, program.lowered, program.plan, options_.compile);
}

void Session::reserve(const Plan& plan) {
  grow(planned_, plan.planned_bytes);
  for (Staging& staging : staging_) {
    if (size_of(staging.buffer) < plan.staging_bytes) staging.steady.clear();
    grow(staging.buffer, plan.staging_bytes);
  }
}

void Session::grow(std::unique_ptr<Buffer>& arena, size_t bytes) {
  size_t before = size_of(arena);
  if (arena && before >= bytes) return;
  last_run_ = nullptr;  // its outputs go with the arena
  arena.reset();        // before the larger one is asked for
  try {
    arena = backend_.allocate(bytes);
  } catch (const Error&) {
    arena = backend_.allocate(before);  // the programs there are can go on
    throw;
  }
  // What is read before it was written shows, too.
  if (options_.compile.poison) fill(backend_, *arena, std::byte{0xFF});
}

bool Session::has_program(std::string_view name) const {
  return programs_.contains(name);
}

std::vector<std::string> Session::program_names() const {
  std::vector<std::string> names;
  for (const auto& [name, program] : programs_) names.push_back(name);
  return names;
}

void Session::add_program(const NamedGraph& graph) {
  if (has_program(graph.name)) {
    fail(ErrorKind::InvalidArgument, "program \"{}\" exists already", graph.name);
  }
  std::unique_ptr<Program> program = build(graph);
  for (const Node& node : program->graph.nodes()) {
    if (node.op != OpKind::Variable) continue;
    auto known = variable_types_.find(node.name);
    const TensorType& type = program->graph.type(node.outputs[0]);
    if (known == variable_types_.end() || known->second != type) {
      fail(ErrorKind::InvalidArgument, "program \"{}\" needs variable \"{}\" of {}, which {}",
           graph.name, node.name, to_string(type),
           known == variable_types_.end() ? "the session does not have"
                                          : "is " + to_string(known->second));
    }
  }
  program->plan = plan_memory(program->graph, program->lowered, variables_, options_.plan);
  finish(*program);
  reserve(program->plan);
  programs_.emplace(graph.name, std::move(program));
}

Session::Program& Session::find(std::string_view name) const {
  auto at = programs_.find(name);
  if (at == programs_.end()) {
    fail(ErrorKind::InvalidArgument, "the session has no program \"{}\"", name);
  }
  return *at->second;
}

void Session::stage(Program& program, std::span<const InputData> inputs) {
  size_t bound = 0;
  for (const Node& node : program.graph.nodes()) {
    if (node.op != OpKind::Input) continue;
    const InputData* data = nullptr;
    for (const InputData& input : inputs) {
      if (input.name == node.name) data = &input;
    }
    const TensorType& type = program.graph.type(node.outputs[0]);
    size_t expected = size_t(type.bytes()), given = data == nullptr ? 0 : data->bytes.size();
    if (data != nullptr && data->buffer != nullptr) {
      POUNCE_ASSERT(data->offset <= data->buffer->bytes());
      given = std::min(expected, data->buffer->bytes() - data->offset);
    }
    if (given != expected) {
      fail(ErrorKind::InvalidArgument,
           "program \"{}\": input \"{}\" has {} bytes, expected {} ({})", program.name, node.name,
           given, expected, to_string(type));
    }
    size_t offset = program.plan.values[size_t(node.outputs[0].id)].offset;
    Staging& staging = staging_[next_staging_];
    if (data->buffer != nullptr) {
      forget_range(staging.steady, offset, expected);
      backend_.copy(*staging.buffer, offset, *data->buffer, data->offset, expected);
    } else {
      upload_input(staging, offset, *data);
    }
    ++bound;
  }
  if (bound != inputs.size()) {
    fail(ErrorKind::InvalidArgument, "program \"{}\" has {} inputs, {} were given", program.name,
         bound, inputs.size());
  }
}

void Session::upload_input(Staging& staging, size_t offset, const InputData& data) {
  if (data.is_steady) {
    auto held = staging.steady.find(offset);
    if (held != staging.steady.end() && std::ranges::equal(held->second, data.bytes)) return;
  }
  forget_range(staging.steady, offset, data.bytes.size());
  backend_.upload(*staging.buffer, offset, data.bytes);
  transfers_.to_device_bytes += int64_t(data.bytes.size());
  if (data.is_steady) staging.steady[offset].assign(data.bytes.begin(), data.bytes.end());
}

void Session::run(std::string_view name, std::span<const InputData> inputs) {
  Program& program = find(name);
  stage(program, inputs);
  backend_.run(*program.executable, {persistent_.get(), planned_.get(),
                                     staging_[next_staging_].buffer.get(), &communicator_});
  next_staging_ = 1 - next_staging_;
  last_run_ = &program;
}

size_t Session::output_bytes(std::string_view program, std::string_view name) const {
  const Graph& graph = find(program).graph;
  Value value = graph.find_output(name);
  if (!value.valid()) {
    fail(ErrorKind::InvalidArgument, "program \"{}\" has no output \"{}\"", program, name);
  }
  return size_t(graph.type(value).bytes());
}

const Placement& Session::find_output(const Program& program, std::string_view name) const {
  if (last_run_ != &program) {
    fail(ErrorKind::InvalidArgument, "output \"{}\": program \"{}\" was not the last one run", name,
         program.name);
  }
  return program.plan.values[size_t(program.graph.find_output(name).id)];
}

const Buffer& Session::arena_of(const Placement& where) const {
  switch (where.arena) {
    case Arena::Persistent:
      return *persistent_;
    case Arena::Planned:
      break;
    case Arena::Staging:
      return *staging_[1 - next_staging_].buffer;
  }
  return *planned_;
}

void Session::read_output(Program& program, std::string_view name, std::span<std::byte> bytes) {
  const Placement& where = find_output(program, name);
  backend_.download(arena_of(where), where.offset, bytes);
  transfers_.to_host_bytes += int64_t(bytes.size());
}

void Session::copy_output(std::string_view program, std::string_view name, Buffer& destination,
                          size_t offset) {
  size_t bytes = output_bytes(program, name);
  POUNCE_ASSERT(offset <= destination.bytes() && bytes <= destination.bytes() - offset);
  const Placement& where = find_output(find(program), name);
  backend_.copy(destination, offset, arena_of(where), where.offset, bytes);
}

bool Session::has_variable(std::string_view name) const {
  return variable_types_.contains(name);
}

std::vector<std::string> Session::variable_names() const {
  std::vector<std::string> names;
  for (const auto& [name, type] : variable_types_) names.push_back(name);
  return names;
}

const TensorType& Session::variable_type(std::string_view name) const {
  auto at = variable_types_.find(name);
  if (at == variable_types_.end()) {
    fail(ErrorKind::InvalidArgument, "the session has no variable \"{}\"", name);
  }
  return at->second;
}

void Session::write(std::string_view name, std::span<const std::byte> bytes) {
  const TensorType& type = variable_type(name);
  if (bytes.size() != size_t(type.bytes())) {
    fail(ErrorKind::InvalidArgument, "variable \"{}\" is {} ({} bytes), {} bytes were given", name,
         to_string(type), type.bytes(), bytes.size());
  }
  backend_.upload(*persistent_, variables_.placements.at(std::string(name)).offset, bytes);
  transfers_.to_device_bytes += int64_t(bytes.size());
}

void Session::read(std::string_view name, std::span<std::byte> bytes) {
  const TensorType& type = variable_type(name);
  POUNCE_ASSERT(bytes.size() == size_t(type.bytes()));
  backend_.download(*persistent_, variables_.placements.at(std::string(name)).offset, bytes);
  transfers_.to_host_bytes += int64_t(bytes.size());
}

size_t Session::planned_bytes() const {
  size_t planned = 0, staging = 0;
  for (const auto& [name, program] : programs_) {
    planned = std::max(planned, program->plan.planned_bytes);
    staging = std::max(staging, program->plan.staging_bytes);
  }
  return variables_.bytes + planned + 2 * staging;
}

size_t Session::allocated_bytes() const {
  return size_of(persistent_) + size_of(planned_) + size_of(staging_[0].buffer) +
         size_of(staging_[1].buffer);
}

const Plan& Session::plan(std::string_view program) const {
  return find(program).plan;
}

const Graph& Session::graph(std::string_view program) const {
  return find(program).graph;
}

const LoweredGraph& Session::lowered(std::string_view program) const {
  return find(program).lowered;
}

const std::vector<PassReport>& Session::pass_reports(std::string_view program) const {
  return find(program).reports;
}

}  // namespace pounce
