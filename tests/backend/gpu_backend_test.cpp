// What every GPU backend shares: lowering to launches, placing their operands, and what it asks of
// a device. The device here only records.
#include "backend/gpu/gpu_backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/kernels/texts.h"
#include "expect_error.h"

namespace pounce {
namespace {

using kernels::Launch;
using kernels::Operand;
using testing::ElementsAre;
using testing::HasSubstr;

class FakeBuffer final : public Buffer {
 public:
  explicit FakeBuffer(size_t bytes) : bytes_(bytes) {}
  size_t bytes() const override { return bytes_; }

 private:
  size_t bytes_;
};

struct Recorded final : Executable {
  GpuSequence sequence;
};

class RecordingDevice final : public GpuDevice {
 public:
  std::string_view name() const override { return "host"; }
  const Target& target() const override { return target_; }
  std::unique_ptr<Buffer> allocate(size_t bytes) override {
    return std::make_unique<FakeBuffer>(bytes);
  }
  std::unique_ptr<Executable> prepare(GpuSequence sequence) override {
    auto recorded = std::make_unique<Recorded>();
    recorded->sequence = std::move(sequence);
    prepared = &recorded->sequence;
    return recorded;
  }
  void run(Executable& sequence, const Bindings&) override {
    runs += dynamic_cast<Recorded*>(&sequence) != nullptr;
  }
  void write(Buffer&, size_t, std::span<const std::byte>) override { ++writes; }
  void read(const Buffer&, size_t, std::span<std::byte>) override { ++reads; }
  void copy(Buffer&, size_t, const Buffer&, size_t, size_t) override { ++copies; }
  void synchronize() override {}
  MemoryInfo memory_info() const override { return {}; }

  GpuSequence* prepared = nullptr;  // the last one
  int runs = 0, writes = 0, reads = 0, copies = 0;

 private:
  Target target_;
};

Launch launch_of(std::string entry, std::vector<kernels::Argument> arguments) {
  return {.program = {"elementwise", {{"INPUTS", "1"}}},
          .entry = std::move(entry),
          .arguments = std::move(arguments),
          .groups = {7, 2, 1},
          .items = 64};
}

std::vector<Launch> two_launches(const NodeContext& context) {
  int64_t elements = context.output(0).shape.elements();
  Operand x{Operand::Kind::Input, 0}, y{Operand::Kind::Output, 0};
  Operand scratch{Operand::Kind::Workspace, 0, 128};
  Launch nothing = launch_of("nothing", {});
  nothing.groups = {4, 0, 1};
  return {launch_of("first", {x, scratch, elements, 0.5F}), nothing,
          launch_of("second", {scratch, y, int32_t{3}})};
}

size_t workspace(const NodeContext&) {
  return 256;
}

std::optional<std::string> refuse_large(const NodeContext& context) {
  if (context.output(0).shape.elements() <= 100) return std::nullopt;
  return "more than 100 elements";
}

std::span<const kernels::Implementation> test_kernels(OpKind op) {
  static const std::vector<kernels::Implementation> relu = {{.name = "mixing",
                                                             .batch_invariant = false,
                                                             .refuse = refuse_large,
                                                             .launches = two_launches},
                                                            {.name = "two",
                                                             .refuse = refuse_large,
                                                             .workspace_bytes = workspace,
                                                             .launches = two_launches}};
  static const std::vector<kernels::Implementation> all_reduce = {
      {.name = "copy", .workspace_bytes = workspace, .launches = two_launches}};
  if (op == OpKind::Relu) return relu;
  if (op == OpKind::AllReduce) return all_reduce;
  return {};
}

Graph one_op(OpKind op, int64_t elements = 5) {
  Graph graph;
  Value x = graph.add_input("x", {DType::F32, {elements}});
  graph.add_output("y", graph.add_one(op, {x}, {}, "layer0"));
  graph.require_batch_invariance();
  return graph;
}

class GpuBackendTest : public testing::Test {
 protected:
  GpuBackendTest() {
    auto device = std::make_unique<RecordingDevice>();
    device_ = device.get();
    backend_ = std::make_unique<GpuBackend>(std::move(device), test_kernels);
  }

  std::unique_ptr<Executable> compile(const Graph& graph, bool poison = false) {
    LoweredGraph lowered = backend_->lower(graph, backend_->target());
    plan_ = plan_memory(graph, lowered, lay_out_variables({&graph}));
    return backend_->compile(graph, lowered, plan_, {.poison = poison});
  }

  RecordingDevice* device_;
  std::unique_ptr<GpuBackend> backend_;
  Plan plan_;
};

TEST_F(GpuBackendTest, PlacesOperandsByThePlan) {
  Graph graph = one_op(OpKind::Relu);
  std::unique_ptr<Executable> program = compile(graph);
  ASSERT_EQ(device_->prepared->commands.size(), 2u);  // without the empty launch
  const auto& first = std::get<GpuLaunch>(device_->prepared->commands[0]);
  EXPECT_EQ(first.label, "in layer0 (relu)");
  EXPECT_EQ(first.entry, "first");
  EXPECT_EQ(first.items, 64);
  EXPECT_THAT(first.groups, ElementsAre(7, 2, 1));
  Placement scratch = plan_.workspaces[1];
  scratch.offset += 128;
  scratch.bytes -= 128;
  EXPECT_EQ(scratch.bytes, 128u);
  EXPECT_THAT(first.arguments, ElementsAre(GpuArgument(plan_.values[0]), GpuArgument(scratch),
                                           GpuArgument(int64_t{5}), GpuArgument(0.5F)));
  const auto& second = std::get<GpuLaunch>(device_->prepared->commands[1]);
  EXPECT_THAT(second.arguments, ElementsAre(GpuArgument(scratch), GpuArgument(plan_.values[1]),
                                            GpuArgument(int32_t{3})));
}

TEST_F(GpuBackendTest, CompilesEveryDistinctProgramOnce) {
  std::unique_ptr<Executable> program = compile(one_op(OpKind::Relu));
  ASSERT_EQ(device_->prepared->sources.size(), 1u);
  const GpuSource& source = device_->prepared->sources[0];
  EXPECT_EQ(source.name, "elementwise");
  EXPECT_THAT(source.text, testing::StartsWith("#define INPUTS 1\n#define ITEMS 64\n"));
  EXPECT_THAT(source.text, HasSubstr(std::string(kernels::source("host"))));
  EXPECT_TRUE(source.text.ends_with(kernels::source("elementwise")));
}

TEST_F(GpuBackendTest, PoisonsWhatThePlanReleases) {
  Graph graph = one_op(OpKind::Relu);
  std::unique_ptr<Executable> program = compile(graph, true);
  ASSERT_EQ(plan_.released[1].size(), 1u);  // the workspace
  ASSERT_EQ(device_->prepared->commands.size(), 3u);
  EXPECT_EQ(std::get<GpuPoison>(device_->prepared->commands[2]).where, plan_.released[1][0]);
}

TEST_F(GpuBackendTest, TakesTheFirstThatDoesNotRefuse) {
  Graph graph = one_op(OpKind::Relu);
  LoweredNode node = backend_->lower(graph, backend_->target()).nodes[1];
  EXPECT_EQ(node.implementation, "two");
  EXPECT_EQ(node.workspace_bytes, 256u);
  ASSERT_EQ(node.refusals.size(), 1u);
  EXPECT_THAT(node.refusals[0].reason, HasSubstr("batch around it"));
  EXPECT_FALSE(node.in_place.empty());  // the op table's

  Graph large = one_op(OpKind::Relu, 101);
  EXPECT_THAT(backend_->supports(large, large.nodes()[1], backend_->target()).value_or(""),
              HasSubstr("two: more than 100 elements"));
  EXPECT_ERROR(backend_->lower(large, backend_->target()), ErrorKind::Unsupported, "layer0", "host",
               "more than 100 elements");
  EXPECT_ERROR(backend_->lower(one_op(OpKind::Sigmoid), backend_->target()), ErrorKind::Unsupported,
               "the host backend has no sigmoid");
}

TEST_F(GpuBackendTest, RefusesAnImplementationItDoesNotKnow) {
  Graph graph = one_op(OpKind::Relu);
  LoweredGraph lowered = backend_->lower(graph, backend_->target());
  Plan plan = plan_memory(graph, lowered, lay_out_variables({&graph}));
  lowered.nodes[1].implementation = "of another build";
  EXPECT_ERROR(backend_->compile(graph, lowered, plan, {}), ErrorKind::Unsupported,
               "\"of another build\"");
}

class SeveralRanks final : public Communicator {
 public:
  int rank() const override { return 0; }
  int world() const override { return 2; }
  void all_reduce_sum(void*, int64_t, DType) override {}
};

TEST_F(GpuBackendTest, SumsOverOneRankOnly) {
  SeveralRanks two;
  SingleProcess alone;
  auto run = [&](OpKind op, Communicator* communicator) {
    std::unique_ptr<Executable> program = compile(one_op(op));
    FakeBuffer persistent(plan_.persistent_bytes), planned(plan_.planned_bytes),
        staging(plan_.staging_bytes);
    backend_->run(*program, {&persistent, &planned, &staging, communicator});
  };
  run(OpKind::AllReduce, &alone);
  run(OpKind::AllReduce, nullptr);
  run(OpKind::Relu, &two);
  EXPECT_EQ(device_->runs, 3);
  EXPECT_ERROR(run(OpKind::AllReduce, &two), ErrorKind::Unsupported, "one process", "2");
  EXPECT_EQ(device_->runs, 3);
}

TEST_F(GpuBackendTest, KeepsWithinBuffers) {
  FakeBuffer a(8), b(8);
  std::vector<std::byte> bytes(3);
  backend_->upload(a, 5, bytes);
  backend_->download(a, 5, bytes);
  backend_->copy(a, 0, b, 5, 3);
  EXPECT_THROW(backend_->upload(a, 6, bytes), Error);
  EXPECT_THROW(backend_->download(a, 9, {}), Error);
  EXPECT_THROW(backend_->copy(a, 0, b, 6, 3), Error);
  EXPECT_THROW(backend_->copy(a, 6, b, 0, 3), Error);
  // Nothing to move is nothing to ask the device for.
  backend_->upload(a, 8, {});
  backend_->download(a, 8, {});
  backend_->copy(a, 8, b, 0, 0);
  EXPECT_EQ(device_->writes, 1);
  EXPECT_EQ(device_->reads, 1);
  EXPECT_EQ(device_->copies, 1);
}

TEST_F(GpuBackendTest, WantsArenasAsLargeAsThePlan) {
  std::unique_ptr<Executable> program = compile(one_op(OpKind::Relu));
  FakeBuffer planned(plan_.planned_bytes), staging(plan_.staging_bytes - 1);
  EXPECT_THROW(backend_->run(*program, {nullptr, &planned, &staging, nullptr}), Error);
  EXPECT_EQ(device_->runs, 0);
}

TEST(KernelTexts, HoldEveryDialect) {
  for (const char* dialect : {"opencl", "cuda", "host"}) {
    EXPECT_FALSE(kernels::source(dialect).empty()) << dialect;
  }
  EXPECT_TRUE(kernels::source("nothing").empty());
  EXPECT_ERROR(kernels::module_text({"nothing", {}}, 1, "host"), ErrorKind::Internal,
               "\"nothing\"");
}

}  // namespace
}  // namespace pounce
