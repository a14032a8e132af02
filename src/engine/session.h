// Joins graph, passes, lowering, plan and backend into programs that run, and owns every tensor:
// one persistent arena for variables, one planned arena shared by all programs, two for inputs.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/backend.h"
#include "passes/pass.h"
#include "plan/plan.h"

namespace pounce {

struct SessionOptions {
  PassOptions passes;
  PlanOptions plan;
  CompileOptions compile;
  bool check_plan = kPoisonByDefault;  // run the independent checker on every plan
};

struct NamedGraph {
  std::string name;
  Graph graph;
};

// Bytes of one program input: on the host, or in a buffer of the session's backend.
struct InputData {
  std::string_view name;
  std::span<const std::byte> bytes;
  const Buffer* buffer = nullptr;  // set: taken instead of `bytes`, from `offset` on
  size_t offset = 0;
  // The same at most runs: `bytes` travel only where the device does not still hold them.
  bool is_steady = false;
};

template <typename T>
std::span<const std::byte> bytes_of(const std::vector<T>& values) {
  return std::as_bytes(std::span<const T>(values));
}

struct TransferCount {
  int64_t to_device_bytes = 0;
  int64_t to_host_bytes = 0;
};

class Session {
 public:
  // Plans and compiles every graph and allocates the arenas; variables start as zeros.
  // Neither backend nor communicator is owned; both must outlive the session.
  // Throws OutOfMemory, Unsupported, InvalidArgument.
  Session(Backend& backend, Communicator& communicator, const std::vector<NamedGraph>& graphs,
          SessionOptions options = {});
  ~Session();

  bool has_program(std::string_view name) const;
  std::vector<std::string> program_names() const;
  // A further program over the same variables, such as a batch of another size. The planned arena
  // grows if it must; outputs not yet read are lost then. Throws InvalidArgument for a variable the
  // session does not have, Unsupported, OutOfMemory; the session goes on without the program.
  void add_program(const NamedGraph& graph);

  // Uploads the inputs (every one of the program's, of its exact size) and runs. Two runs' inputs
  // are on the device at once, so a steady one travels twice before it stays.
  void run(std::string_view program, std::span<const InputData> inputs);

  // Output `name` of `program`, which must have been the last one run.
  template <typename T>
  std::vector<T> output(std::string_view program, std::string_view name);
  // The same on the device: into `destination` from `offset` on, as many bytes as the output has.
  void copy_output(std::string_view program, std::string_view name, Buffer& destination,
                   size_t offset);

  bool has_variable(std::string_view name) const;
  std::vector<std::string> variable_names() const;
  const TensorType& variable_type(std::string_view name) const;
  // Whole variables; sizes must agree with the type's.
  void write(std::string_view name, std::span<const std::byte> bytes);
  void read(std::string_view name, std::span<std::byte> bytes);
  template <typename T>
  std::vector<T> read_values(std::string_view name);

  // Sums of the plans: what will be and what was allocated; equal to the byte.
  size_t planned_bytes() const;
  size_t allocated_bytes() const;
  const TransferCount& transfers() const { return transfers_; }
  const VariableLayout& variables() const { return variables_; }
  // Throws InvalidArgument for an unknown program.
  const Plan& plan(std::string_view program) const;
  const Graph& graph(std::string_view program) const;
  const LoweredGraph& lowered(std::string_view program) const;
  const std::vector<PassReport>& pass_reports(std::string_view program) const;

 private:
  struct Program;
  // Where inputs of one run lie.
  struct Staging {
    std::unique_ptr<Buffer> buffer;
    std::map<size_t, std::vector<std::byte>> steady;  // by offset: steady inputs it holds
  };

  Program& find(std::string_view name) const;
  std::unique_ptr<Program> build(const NamedGraph& named);
  void finish(Program& program);
  void reserve(const Plan& plan);
  void grow(std::unique_ptr<Buffer>& arena, size_t bytes);
  void stage(Program& program, std::span<const InputData> inputs);
  void upload_input(Staging& staging, size_t offset, const InputData& data);
  void read_output(Program& program, std::string_view name, std::span<std::byte> bytes);
  // The memory `where` addresses, of the program that ran last.
  const Buffer& arena_of(const Placement& where) const;
  const Placement& find_output(const Program& program, std::string_view name) const;
  size_t output_bytes(std::string_view program, std::string_view name) const;

  Backend& backend_;
  Communicator& communicator_;
  SessionOptions options_;
  VariableLayout variables_;
  std::map<std::string, TensorType, std::less<>> variable_types_;
  std::map<std::string, std::unique_ptr<Program>, std::less<>> programs_;
  std::unique_ptr<Buffer> persistent_;
  std::unique_ptr<Buffer> planned_;
  Staging staging_[2];
  int next_staging_ = 0;
  const Program* last_run_ = nullptr;
  TransferCount transfers_;
};

template <typename T>
std::vector<T> Session::output(std::string_view program, std::string_view name) {
  std::vector<T> values(output_bytes(program, name) / sizeof(T));
  read_output(find(program), name, std::as_writable_bytes(std::span<T>(values)));
  return values;
}

template <typename T>
std::vector<T> Session::read_values(std::string_view name) {
  std::vector<T> values(size_t(variable_type(name).bytes()) / sizeof(T));
  read(name, std::as_writable_bytes(std::span<T>(values)));
  return values;
}

}  // namespace pounce
