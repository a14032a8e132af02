// What all host backends share: choice of implementations, buffers, the run loop and its guards.
#include "backend/host_backend.h"

#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/registry.h"
#include "backend/run_graph.h"
#include "base/error.h"

namespace pounce {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::optional<std::string> refuse_with_reason(const NodeContext&) {
  return "only on Sundays";
}

size_t hundred_bytes(const NodeContext&) {
  return 100;
}

HostKernel make_negate(const NodeContext& context) {
  int64_t elements = context.output(0).shape.elements();
  return [=](const KernelArguments& arguments) {
    for (int64_t i = 0; i < elements; ++i) {
      arguments.output<float>(0)[i] = -arguments.input<float>(0)[i];
    }
  };
}

HostKernel make_workspace_user(const NodeContext& context) {
  return [negate = make_negate(context)](const KernelArguments& arguments) {
    std::memset(arguments.workspace, 0, 100);
    negate(arguments);
  };
}

HostKernel make_failing(const NodeContext&) {
  return [](const KernelArguments&) { fail(ErrorKind::Device, "the device is on fire"); };
}

HostKernel make_overrun(const NodeContext& context) {
  int64_t elements = context.output(0).shape.elements();
  return [=](const KernelArguments& arguments) {
    std::memset(arguments.outputs[0], 0, size_t(elements) * 4 + 65);
  };
}

Target target_with(size_t memory_bytes) {
  Target target;
  target.memory_bytes = memory_bytes;
  return target;
}

// A backend of relu alone, by the implementations given.
class TestBackend final : public HostBackend {
 public:
  explicit TestBackend(std::vector<Implementation> relu, size_t memory_bytes = 0)
      : HostBackend(target_with(memory_bytes)), relu_(std::move(relu)) {}

  std::string_view name() const override { return "test"; }

 protected:
  std::span<const Implementation> implementations(OpKind op) const override {
    return op == OpKind::Relu ? relu_ : std::span<const Implementation>();
  }

 private:
  std::vector<Implementation> relu_;
};

Graph relu_graph(int count = 1) {
  Graph graph;
  Value value = graph.add_input("x", {DType::F32, {5}});
  for (int i = 0; i < count; ++i) {
    value = graph.add_one(OpKind::Relu, {value}, {}, fmt::format("layer{}.relu", i));
  }
  graph.add_output("y", value);
  return graph;
}

const Tensors kFiveNumbers = {
    {"x", make_tensor({DType::F32, {5}}, std::vector<double>{1, 2, 3, 4, 5})}};

template <typename F>
Error error_of(F run) {
  try {
    run();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "no error was thrown";
  return Error(ErrorKind::Internal, "");
}

TEST(HostBackend, TakesTheFirstThatDoesNotRefuse) {
  TestBackend backend({{.name = "sunday", .refuse = refuse_with_reason, .make = make_failing},
                       {.name = "racy", .thread_invariant = false, .make = make_failing},
                       {.name = "good",
                        .workspace_bytes = hundred_bytes,
                        .make = make_workspace_user,
                        .in_place = {{0, 0}}},
                       {.name = "last", .make = make_failing}});
  RunResult result = run_graph(backend, relu_graph(), kFiveNumbers);
  EXPECT_THAT(numbers_of(result.outputs.at("y")), ElementsAre(-1, -2, -3, -4, -5));
  EXPECT_EQ(result.lowered.nodes[0].implementation, "");
  const LoweredNode& node = result.lowered.nodes[1];
  EXPECT_EQ(node.implementation, "good");
  EXPECT_EQ(node.workspace_bytes, 100u);
  EXPECT_EQ(node.in_place.size(), 2u);  // the op table's and its own
  ASSERT_EQ(node.refusals.size(), 2u);
  EXPECT_EQ(node.refusals[0].implementation, "sunday");
  EXPECT_EQ(node.refusals[0].reason, "only on Sundays");
  EXPECT_EQ(node.refusals[1].implementation, "racy");
  EXPECT_THAT(node.refusals[1].reason, HasSubstr("threads"));
}

TEST(HostBackend, RefusesWhatDependsOnTheBatchOnlyWhereThatMatters) {
  TestBackend backend({{.name = "mixing", .batch_invariant = false, .make = make_negate},
                       {.name = "steady", .make = make_negate}});
  Graph graph = relu_graph();
  EXPECT_EQ(backend.lower(graph, backend.target()).nodes[1].implementation, "mixing");
  graph.require_batch_invariance();
  LoweredNode node = backend.lower(graph, backend.target()).nodes[1];
  EXPECT_EQ(node.implementation, "steady");
  EXPECT_THAT(node.refusals.at(0).reason, HasSubstr("batch"));
}

TEST(HostBackend, NamesTheLayerItCannotRun) {
  TestBackend refusing({{.name = "sunday", .refuse = refuse_with_reason, .make = make_negate}});
  Graph graph = relu_graph();
  EXPECT_THAT(refusing.supports(graph, graph.nodes()[1], refusing.target()).value_or(""),
              HasSubstr("sunday: only on Sundays"));
  EXPECT_EQ(refusing.supports(graph, graph.nodes()[0], refusing.target()), std::nullopt);
  Error error = error_of([&] { refusing.lower(graph, refusing.target()); });
  EXPECT_EQ(error.kind(), ErrorKind::Unsupported);
  EXPECT_THAT(error.message(), HasSubstr("layer0.relu"));
  EXPECT_THAT(error.message(), HasSubstr("only on Sundays"));

  TestBackend empty({});
  EXPECT_THAT(empty.supports(graph, graph.nodes()[1], empty.target()).value_or(""),
              HasSubstr("the test backend has no relu"));
}

TEST(HostBackend, RefusesAnImplementationItDoesNotKnow) {
  TestBackend backend({{.name = "good", .make = make_negate}});
  Graph graph = relu_graph();
  LoweredGraph lowered = backend.lower(graph, backend.target());
  Plan plan = plan_memory(graph, lowered, lay_out_variables({&graph}));
  lowered.nodes[1].implementation = "of another build";
  Error error = error_of([&] { backend.compile(graph, lowered, plan, {}); });
  EXPECT_EQ(error.kind(), ErrorKind::Unsupported);
  EXPECT_THAT(error.message(), HasSubstr("of another build"));
}

TEST(HostBackend, AddsTheLayerToAKernelsError) {
  TestBackend backend({{.name = "failing", .make = make_failing}});
  Error error = error_of([&] { run_graph(backend, relu_graph(), kFiveNumbers); });
  EXPECT_EQ(error.kind(), ErrorKind::Device);
  ASSERT_EQ(error.context().size(), 1u);
  EXPECT_EQ(error.context()[0], "in layer0.relu (relu)");
}

TEST(HostBackend, GuardBytesShowAnOverrun) {
  TestBackend backend({{.name = "overrun", .make = make_overrun}});
  EXPECT_THROW(run_graph(backend, relu_graph(), kFiveNumbers), std::runtime_error);
}

TEST(HostBackend, CountsMemory) {
  TestBackend backend({}, 1 << 20);
  std::unique_ptr<Buffer> first = backend.allocate(1000);
  std::unique_ptr<Buffer> second = backend.allocate(500);
  second.reset();
  EXPECT_EQ(first->bytes(), 1000u);
  EXPECT_EQ(backend.memory_info().allocated_bytes, 1000u);
  EXPECT_EQ(backend.memory_info().peak_bytes, 1500u);
  EXPECT_EQ(backend.memory_info().total_bytes, size_t{1} << 20);
  EXPECT_EQ(backend.allocate(0)->bytes(), 0u);

  Error error = error_of([&] { backend.allocate((1 << 20) - 999); });
  EXPECT_EQ(error.kind(), ErrorKind::OutOfMemory);
  EXPECT_THAT(error.message(), HasSubstr("1047577 bytes"));
  EXPECT_THAT(error.message(), HasSubstr("1000 of 1048576"));
  EXPECT_EQ(backend.allocate((1 << 20) - 1000)->bytes(), 1047576u);
}

TEST(HostBackend, MovesBytesWithinBounds) {
  TestBackend backend({});
  std::unique_ptr<Buffer> a = backend.allocate(8), b = backend.allocate(8);
  std::vector<std::byte> sent = {std::byte{1}, std::byte{2}, std::byte{3}}, received(3);
  backend.upload(*a, 5, sent);
  backend.copy(*b, 0, *a, 5, 3);
  backend.download(*b, 0, received);
  EXPECT_EQ(received, sent);
  EXPECT_THROW(backend.upload(*a, 6, sent), Error);
  EXPECT_THROW(backend.download(*a, 9, std::span(received).first(0)), Error);
  EXPECT_THROW(backend.copy(*a, 0, *b, 0, 9), Error);
}

TEST(HostBackend, PoisonsWhatThePlanReleases) {
  TestBackend backend({{.name = "negate", .make = make_negate}});
  Graph graph = relu_graph(2);
  LoweredGraph lowered = backend.lower(graph, backend.target());
  Plan plan = plan_memory(graph, lowered, lay_out_variables({&graph}), {.reuse = true});
  // As if the first layer's output died once the second had read it.
  plan.values[1] = {Arena::Planned, 64, 20};
  plan.values[2] = {Arena::Planned, 0, 20};
  plan.planned_bytes = 128;
  plan.released.assign(graph.nodes().size(), {});
  plan.released[2] = {plan.values[1]};
  for (bool poison : {false, true}) {
    std::unique_ptr<Executable> program = backend.compile(graph, lowered, plan, {.poison = poison});
    std::unique_ptr<Buffer> planned = backend.allocate(plan.planned_bytes);
    std::unique_ptr<Buffer> staging = backend.allocate(plan.staging_bytes);
    backend.upload(*staging, plan.values[0].offset, kFiveNumbers.at("x").bytes);
    backend.run(*program, {.planned = planned.get(), .staging = staging.get()});
    HostTensor dead = kFiveNumbers.at("x"), y = dead;
    backend.download(*planned, 64, dead.bytes);
    backend.download(*planned, 0, y.bytes);
    EXPECT_EQ(std::isnan(dead.as<float>()[4]), poison);
    EXPECT_THAT(numbers_of(y), ElementsAre(1, 2, 3, 4, 5));
  }
}

TEST(HostBackend, StoresAndReusedMemoryKeepTheirResults) {
  std::unique_ptr<Backend> backend = make_backend("reference");
  Graph graph;
  TensorType type = {DType::F32, {5}};
  Value x = graph.add_input("x", type);
  Value sum = graph.add_variable("sum", type, VariableRole::Gradient);
  Value twice = graph.add_one(OpKind::Add, {x, x});
  graph.store(sum, graph.add_one(OpKind::Add, {sum, twice}));
  Value square = graph.add_one(OpKind::Mul, {twice, twice});
  graph.add_output("y", graph.add_one(OpKind::Add, {square, x}));
  Tensors variables = {{"sum", make_tensor(type, std::vector<double>{10, 20, 30, 40, 50})}};
  RunResult planned = run_graph(*backend, graph, kFiveNumbers, variables);
  EXPECT_THAT(numbers_of(planned.outputs.at("y")), ElementsAre(5, 18, 39, 68, 105));
  EXPECT_THAT(numbers_of(planned.variables.at("sum")), ElementsAre(12, 24, 36, 48, 60));
  RunResult apart = run_graph(*backend, graph, kFiveNumbers, variables, {.reuse = false});
  EXPECT_EQ(apart.outputs, planned.outputs);
  EXPECT_EQ(apart.variables, planned.variables);
  EXPECT_LT(planned.plan.planned_bytes, apart.plan.planned_bytes);
}

// Stands for two ranks with equal data.
class TwoEqualRanks final : public Communicator {
 public:
  int rank() const override { return 0; }
  int world() const override { return 2; }
  void all_reduce_sum(void* data, int64_t elements, DType dtype) override {
    ASSERT_EQ(dtype, DType::F32);
    for (int64_t i = 0; i < elements; ++i) static_cast<float*>(data)[i] *= 2;
  }
};

TEST(HostBackend, SumsThroughTheCommunicator) {
  std::unique_ptr<Backend> backend = make_backend("reference");
  Graph graph;
  graph.add_output("y",
                   graph.add_one(OpKind::AllReduce, {graph.add_input("x", {DType::F32, {5}})}));
  TwoEqualRanks ranks;
  RunResult two = run_graph(*backend, graph, kFiveNumbers, {}, {.communicator = &ranks});
  EXPECT_THAT(numbers_of(two.outputs.at("y")), ElementsAre(2, 4, 6, 8, 10));
  RunResult one = run_graph(*backend, graph, kFiveNumbers);
  EXPECT_THAT(numbers_of(one.outputs.at("y")), ElementsAre(1, 2, 3, 4, 5));
}

TEST(Registry, NamesWhatThereIs) {
  for (std::string_view name : backend_names()) EXPECT_EQ(make_backend(name)->name(), name);
  Error error = error_of([] { make_backend("abacus"); });
  EXPECT_EQ(error.kind(), ErrorKind::Unsupported);
  EXPECT_THAT(error.message(), HasSubstr("abacus"));
  EXPECT_THAT(error.message(), HasSubstr("reference"));
}

}  // namespace
}  // namespace pounce
