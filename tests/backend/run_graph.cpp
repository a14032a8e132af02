#include "backend/run_graph.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <stdexcept>

#include <fmt/format.h>

#include "base/half.h"

namespace pounce {
namespace {

constexpr size_t kGuardBytes = 512;  // no less than a device aligns to
constexpr std::byte kGuard{0xA5};

template <typename T>
void convert(std::span<const double> numbers, std::vector<std::byte>& bytes) {
  for (size_t i = 0; i < numbers.size(); ++i) {
    T value = T(numbers[i]);
    std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
  }
}

template <typename T>
std::vector<double> convert_back(const HostTensor& tensor) {
  std::span<const T> values = tensor.as<T>();
  return {values.begin(), values.end()};
}

void convert_halves(std::span<const double> numbers, uint16_t (*round)(float),
                    std::vector<std::byte>& bytes) {
  std::vector<uint16_t> halves;
  for (double number : numbers) halves.push_back(round(float(number)));
  if (!halves.empty()) std::memcpy(bytes.data(), halves.data(), bytes.size());
}

std::vector<double> convert_halves_back(const HostTensor& tensor, float (*widen)(uint16_t)) {
  std::vector<double> numbers;
  for (uint16_t half : tensor.as<uint16_t>()) numbers.push_back(double(widen(half)));
  return numbers;
}

double norm(const std::vector<double>& numbers) {
  double sum = 0;
  for (double number : numbers) sum += number * number;
  return std::sqrt(sum);
}

// Moves every placement up, so that guard bytes fit before it.
Plan shift(Plan plan) {
  auto move = [](std::vector<Placement>& placements) {
    for (Placement& placement : placements) placement.offset += kGuardBytes;
  };
  move(plan.values);
  move(plan.workspaces);
  for (std::vector<Placement>& released : plan.released) move(released);
  plan.persistent_bytes += kGuardBytes;
  plan.planned_bytes += kGuardBytes;
  plan.staging_bytes += kGuardBytes;
  return plan;
}

// An arena of NaN bytes between two guards. `bytes` counts the guard before it, not the one after.
class GuardedArena {
 public:
  GuardedArena(Backend& backend, size_t bytes)
      : backend_(backend), bytes_(bytes), buffer_(backend.allocate(bytes + kGuardBytes)) {
    std::vector<std::byte> content(buffer_->bytes(), kGuard);
    std::fill(content.begin() + kGuardBytes, content.begin() + std::ptrdiff_t(bytes),
              std::byte{0xFF});
    backend.upload(*buffer_, 0, content);
  }

  Buffer& buffer() { return *buffer_; }

  void check(const char* arena) const {
    for (size_t start : {size_t{0}, bytes_}) {
      std::vector<std::byte> guard(kGuardBytes);
      backend_.download(*buffer_, start, guard);
      for (std::byte byte : guard) {
        if (byte == kGuard) continue;
        throw std::runtime_error(
            fmt::format("a kernel wrote {} the {} arena", start == 0 ? "before" : "behind", arena));
      }
    }
  }

 private:
  Backend& backend_;
  size_t bytes_;
  std::unique_ptr<Buffer> buffer_;
};

// The arenas of one run and where the plan puts values in them.
class Memory {
 public:
  Memory(Backend& backend, const Graph& graph, const Plan& plan)
      : backend_(backend),
        graph_(graph),
        plan_(plan),
        persistent_(backend, plan.persistent_bytes),
        planned_(backend, plan.planned_bytes),
        staging_(backend, plan.staging_bytes) {}

  void upload_leaves(const Tensors& inputs, const Tensors& variables) {
    for (const Node& node : graph_.nodes()) {
      if (node.op != OpKind::Input && node.op != OpKind::Variable) continue;
      const Tensors& tensors = node.op == OpKind::Input ? inputs : variables;
      auto at = tensors.find(node.name);
      const TensorType& type = graph_.type(node.outputs[0]);
      if (at == tensors.end() || at->second.type != type) {
        throw std::runtime_error(
            fmt::format("\"{}\" needs {}, found {}", node.name, to_string(type),
                        at == tensors.end() ? "nothing" : to_string(at->second.type)));
      }
      const Placement& placement = plan_.values[size_t(node.outputs[0].id)];
      backend_.upload(arena(placement.arena).buffer(), placement.offset, at->second.bytes);
    }
  }

  HostTensor download(Value value) {
    const Placement& placement = plan_.values[size_t(value.id)];
    HostTensor tensor{graph_.type(value), {}};
    tensor.bytes.resize(size_t(tensor.type.bytes()));
    backend_.download(arena(placement.arena).buffer(), placement.offset, tensor.bytes);
    return tensor;
  }

  Bindings bindings(Communicator* communicator) {
    return {&persistent_.buffer(), &planned_.buffer(), &staging_.buffer(), communicator};
  }

  void check_guards() const {
    persistent_.check("persistent");
    planned_.check("planned");
    staging_.check("staging");
  }

 private:
  GuardedArena& arena(Arena which) {
    if (which == Arena::Persistent) return persistent_;
    return which == Arena::Planned ? planned_ : staging_;
  }

  Backend& backend_;
  const Graph& graph_;
  const Plan& plan_;
  GuardedArena persistent_, planned_, staging_;
};

}  // namespace

HostTensor make_tensor(const TensorType& type, std::span<const double> numbers) {
  if (int64_t(numbers.size()) != type.shape.elements()) {
    throw std::runtime_error(fmt::format("{} given {} numbers", to_string(type), numbers.size()));
  }
  HostTensor tensor{type, std::vector<std::byte>(size_t(type.bytes()))};
  switch (type.dtype) {
    case DType::F64:
      convert<double>(numbers, tensor.bytes);
      return tensor;
    case DType::F32:
      convert<float>(numbers, tensor.bytes);
      return tensor;
    case DType::I64:
      convert<int64_t>(numbers, tensor.bytes);
      return tensor;
    case DType::I32:
      convert<int32_t>(numbers, tensor.bytes);
      return tensor;
    case DType::U8:
      convert<uint8_t>(numbers, tensor.bytes);
      return tensor;
    case DType::F16:
      convert_halves(numbers, half_from_float, tensor.bytes);
      return tensor;
    case DType::BF16:
      convert_halves(numbers, bfloat16_from_float, tensor.bytes);
      return tensor;
  }
  throw std::runtime_error("no such type");
}

std::vector<double> numbers_of(const HostTensor& tensor) {
  switch (tensor.type.dtype) {
    case DType::F64:
      return convert_back<double>(tensor);
    case DType::F32:
      return convert_back<float>(tensor);
    case DType::I64:
      return convert_back<int64_t>(tensor);
    case DType::I32:
      return convert_back<int32_t>(tensor);
    case DType::U8:
      return convert_back<uint8_t>(tensor);
    case DType::F16:
      return convert_halves_back(tensor, float_from_half);
    case DType::BF16:
      return convert_halves_back(tensor, float_from_bfloat16);
  }
  throw std::runtime_error("no such type");
}

double relative_error(const HostTensor& a, const HostTensor& b) {
  if (a.type.shape != b.type.shape) {
    throw std::runtime_error(
        fmt::format("{} compared with {}", to_string(a.type), to_string(b.type)));
  }
  std::vector<double> found = numbers_of(a), expected = numbers_of(b);
  for (size_t i = 0; i < found.size(); ++i) {
    if (std::isfinite(found[i]) && std::isfinite(expected[i])) continue;
    bool equal = found[i] == expected[i] || (std::isnan(found[i]) && std::isnan(expected[i]));
    if (!equal) return std::numeric_limits<double>::infinity();
    found[i] = expected[i] = 0;
  }
  std::vector<double> difference(found.size());
  for (size_t i = 0; i < found.size(); ++i) difference[i] = found[i] - expected[i];
  double distance = norm(difference);
  return distance == 0 ? 0 : distance / norm(expected);
}

RunResult run_graph(Backend& backend, const Graph& graph, const Tensors& inputs,
                    const Tensors& variables, const RunOptions& options) {
  RunResult result;
  result.lowered = backend.lower(graph, backend.target());
  size_t alignment = backend.target().placement_alignment;
  result.plan = plan_memory(graph, result.lowered, lay_out_variables({&graph}, alignment),
                            PlanOptions{.alignment = alignment, .reuse = options.reuse});
  check_plan(graph, result.lowered, result.plan);
  Plan shifted = shift(result.plan);
  std::unique_ptr<Executable> program =
      backend.compile(graph, result.lowered, shifted, CompileOptions{.poison = options.poison});
  Memory memory(backend, graph, shifted);
  memory.upload_leaves(inputs, variables);
  SingleProcess alone;
  backend.run(*program, memory.bindings(options.communicator ? options.communicator : &alone));
  backend.synchronize();
  memory.check_guards();
  for (const Output& output : graph.outputs()) {
    result.outputs[output.name] = memory.download(output.value);
  }
  for (const Node& node : graph.nodes()) {
    if (node.op == OpKind::Variable) {
      result.variables[node.name] = memory.download(node.outputs[0]);
    }
  }
  return result;
}

}  // namespace pounce
