// Plans of small graphs: where values lie, and that the checker catches plans that were tampered
// with.
#include "plan/plan.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "backend/registry.h"
#include "expect_error.h"
#include "ir/text.h"
#include "random_graph.h"
#include "run_session.h"

namespace pounce {
namespace {

constexpr uint64_t kGraphs = 200;

struct Planned {
  Graph graph;
  LoweredGraph lowered;
  VariableLayout variables;
  Plan plan;
};

Planned make_plan(Backend& backend, const Graph& graph, const PlanOptions& options = {},
                  const PassOptions& passes = {}) {
  Planned made;
  made.graph = run_passes(graph, passes, nullptr);
  made.lowered = backend.lower(made.graph, backend.target());
  made.variables = lay_out_variables({&made.graph});
  made.plan = plan_memory(made.graph, made.lowered, made.variables, options);
  return made;
}

// Node by node as the text has them.
Planned make_plan(const char* text) {
  return make_plan(*make_backend("reference"), parse_graph(text), {},
                   {.disabled = {"fuse_elementwise"}});
}

const Placement& place(const Planned& made, int value) {
  return made.plan.values.at(size_t(value));
}

// x -> matmul -> bias_add -> relu -> matmul -> bias_add.
constexpr char kPerceptron[] =
    "%0:f32[32,64] = input() \"x\"\n"
    "%1:f32[100,64] = variable() {role=\"parameter\"} \"hidden.weight\"\n"
    "%2:f32[100] = variable() {role=\"parameter\"} \"hidden.bias\"\n"
    "%3:f32[10,100] = variable() {role=\"parameter\"} \"out.weight\"\n"
    "%4:f32[10] = variable() {role=\"parameter\"} \"out.bias\"\n"
    "%5:f32[32,100] = matmul(%0, %1) {transpose_b=1} \"hidden\"\n"
    "%6:f32[32,100] = bias_add(%5, %2) \"hidden\"\n"
    "%7:f32[32,100] = relu(%6)\n"
    "%8:f32[32,10] = matmul(%7, %3) {transpose_b=1} \"out\"\n"
    "%9:f32[32,10] = bias_add(%8, %4) \"out\"\n"
    "output %9 \"logits\"\n";

TEST(Plan, WritesInPlaceAndReusesMemory) {
  Planned made = make_plan(kPerceptron);
  EXPECT_EQ(place(made, 6), place(made, 5));
  EXPECT_EQ(place(made, 7), place(made, 5));
  EXPECT_EQ(place(made, 9), place(made, 8));
  EXPECT_EQ(place(made, 0).arena, Arena::Staging);
  EXPECT_EQ(place(made, 1).arena, Arena::Persistent);
  EXPECT_EQ(made.plan.staging_bytes, 32u * 64 * 4);
  EXPECT_EQ(made.plan.persistent_bytes, made.variables.bytes);
  // The output of the first layer and that of the second, alive together.
  EXPECT_EQ(made.plan.planned_bytes, made.plan.lower_bound_bytes);
  EXPECT_NO_THROW(check_plan(made.graph, made.lowered, made.plan));
}

TEST(Plan, PrintsTotalsPeakAndWhatIsAlive) {
  Planned made = make_plan(kPerceptron);
  EXPECT_EQ(print_plan(made.graph, made.plan),
            "planned 14080 bytes, lower bound 14080, persistent 30144, staging 8192 x 2\n"
            "alive at the peak, node 8 (matmul out):\n"
            "         12800 at            0  %7 f32[32,100] relu %7\n"
            "          1280 at        12800  %8 f32[32,10] out\n");
}

TEST(Plan, WithoutReuseNoTwoValuesShareMemory) {
  std::unique_ptr<Backend> backend = make_backend("reference");
  for (uint64_t seed = 0; seed < kGraphs; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Planned made = make_plan(*backend, RandomGraph(seed).graph(), {.reuse = false});
    check_plan(made.graph, made.lowered, made.plan);
    std::vector<Placement> planned;
    for (const Placement& value : made.plan.values) {
      if (value.arena == Arena::Planned) planned.push_back(value);
    }
    std::sort(planned.begin(), planned.end(),
              [](const Placement& a, const Placement& b) { return a.offset < b.offset; });
    for (size_t i = 1; i < planned.size(); ++i) {
      ASSERT_LE(planned[i - 1].offset + planned[i - 1].bytes, planned[i].offset);
    }
  }
}

TEST(Plan, OfRandomGraphsIsCheckedBoundedAndDeterministic) {
  for (std::string_view name : backend_names()) {
    std::unique_ptr<Backend> backend = make_backend(name);
    for (uint64_t seed = 0; seed < kGraphs; ++seed) {
      SCOPED_TRACE(testing::Message() << name << " seed " << seed);
      Planned made = make_plan(*backend, RandomGraph(seed).graph());
      ASSERT_NO_THROW(check_plan(made.graph, made.lowered, made.plan)) << print_graph(made.graph);
      ASSERT_GE(made.plan.planned_bytes, made.plan.lower_bound_bytes);
      Planned again = make_plan(*backend, RandomGraph(seed).graph());
      ASSERT_EQ(made.plan.values, again.plan.values);
      ASSERT_EQ(made.plan.workspaces, again.plan.workspaces);
      ASSERT_EQ(made.plan.released, again.plan.released);
      ASSERT_EQ(made.variables.placements, again.variables.placements);
    }
  }
}

TEST(Plan, ChangesNoBitOfRandomGraphs) {
  for (const char* name : {"reference", "cpu"}) {
    std::unique_ptr<Backend> backend = make_backend(name);
    SessionOptions unplanned;
    unplanned.plan.reuse = false;
    for (uint64_t seed = 0; seed < kGraphs; ++seed) {
      SCOPED_TRACE(testing::Message() << name << " seed " << seed);
      RandomGraph random(seed);
      ASSERT_EQ(run_session(*backend, random.graph(), seed),
                run_session(*backend, random.graph(), seed, unplanned))
          << print_graph(random.graph());
    }
  }
}

// What the program leaves in the persistent arena and the outputs in the planned one.
std::vector<std::byte> run_plan(Backend& backend, const Planned& made, uint64_t seed) {
  std::unique_ptr<Executable> program =
      backend.compile(made.graph, made.lowered, made.plan, CompileOptions{.poison = true});
  std::unique_ptr<Buffer> arenas[3];
  const size_t bytes[] = {made.plan.persistent_bytes, made.plan.planned_bytes,
                          made.plan.staging_bytes};
  for (size_t i = 0; i < 3; ++i) {
    arenas[i] = backend.allocate(bytes[i]);
    backend.upload(*arenas[i], 0, std::vector<std::byte>(bytes[i], std::byte{0xFF}));
  }
  for (const Node& node : made.graph.nodes()) {
    if (node.op != OpKind::Input && node.op != OpKind::Variable) continue;
    const Placement& where = made.plan.values[size_t(node.outputs[0].id)];
    int64_t elements = made.graph.shape(node.outputs[0]).elements();
    std::vector<float> values = RandomGraph::leaf_values(seed, node.name, elements);
    backend.upload(*arenas[size_t(where.arena)], where.offset, bytes_of(values));
  }
  backend.run(*program, {arenas[0].get(), arenas[1].get(), arenas[2].get(), nullptr});
  std::vector<std::byte> result(made.plan.persistent_bytes);
  backend.download(*arenas[0], 0, result);
  for (const Output& output : made.graph.outputs()) {
    const Placement& where = made.plan.values[size_t(output.value.id)];
    std::vector<std::byte> content(where.bytes);
    backend.download(*arenas[size_t(where.arena)], where.offset, content);
    result.insert(result.end(), content.begin(), content.end());
  }
  return result;
}

void expect_caught(const Planned& made, const char* part) {
  EXPECT_ERROR(check_plan(made.graph, made.lowered, made.plan), ErrorKind::Internal, part);
}

TEST(PlanChecker, CatchesTwoLiveValuesInOnePlace) {
  Planned made = make_plan(kPerceptron);
  made.plan.values[8].offset = made.plan.values[7].offset;
  expect_caught(made, "overlap");
  made = make_plan(kPerceptron);
  made.plan.values[8].offset -= kPlacementAlignment;
  expect_caught(made, "overlap");
  // A variable is alive to the end.
  made = make_plan(kPerceptron);
  made.plan.values[2] = made.plan.values[4];
  expect_caught(made, "");
}

TEST(PlanChecker, CatchesWhatLiesOutsideItsArena) {
  Planned made = make_plan(kPerceptron);
  made.plan.planned_bytes -= kPlacementAlignment;
  expect_caught(made, "outside its arena");
  made = make_plan(kPerceptron);
  made.plan.staging_bytes = 0;
  expect_caught(made, "outside its arena");
  made = make_plan(kPerceptron);
  made.plan.persistent_bytes /= 2;
  expect_caught(made, "outside its arena");
  made = make_plan(kPerceptron);
  made.plan.values[0].offset += 4;
  expect_caught(made, "outside its arena");
  made = make_plan(kPerceptron);
  made.plan.values[5].bytes -= 4;
  expect_caught(made, "wrong size");
}

TEST(PlanChecker, CatchesAnInPlaceThatWasNotAllowed) {
  Planned made = make_plan(kPerceptron);
  for (LoweredNode& node : made.lowered.nodes) node.in_place.clear();
  expect_caught(made, "overlap");
}

TEST(PlanChecker, CatchesAWorkspaceThatIsTooSmall) {
  Planned made = make_plan(kPerceptron);
  made.lowered.nodes[5].workspace_bytes += 64;
  expect_caught(made, "workspace");
}

TEST(PlanChecker, CatchesMemoryFreedTooEarly) {
  Planned made = make_plan(kPerceptron);
  made.plan.released[5].push_back(made.plan.values[5]);
  expect_caught(made, "frees its memory");
}

TEST(PlanChecker, CatchesAStoreThatDoesNotArrive) {
  Planned made = make_plan(
      "%0:f32[4] = variable() {role=\"scalar\"} \"a\"\n"
      "%1:f32[4] = relu(%0)\n"
      "store %0 <- %1\n");
  EXPECT_EQ(place(made, 1), place(made, 0));
  made.plan.values[1] = {Arena::Planned, 0, 16};
  made.plan.planned_bytes = 64;
  expect_caught(made, "\"a\"");
}

// A random value moved onto another: whatever the checker lets pass must compute the same bits.
TEST(PlanChecker, CatchesEveryHarmfulMoveInRandomGraphs) {
  std::unique_ptr<Backend> backend = make_backend("reference");
  int caught = 0;
  for (uint64_t seed = 0; seed < kGraphs; ++seed) {
    Planned made = make_plan(*backend, RandomGraph(seed).graph());
    std::vector<Placement>& values = made.plan.values;
    RandomStream random(seed, RandomPurpose::Test, 2, 0);
    size_t a = random.below(uint32_t(values.size())), b = random.below(uint32_t(values.size()));
    if (values[a].arena != Arena::Planned || values[b].arena != Arena::Planned) continue;
    values[a].offset = values[b].offset;
    try {
      check_plan(made.graph, made.lowered, made.plan);
    } catch (const Error&) {
      ++caught;
      continue;
    }
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    EXPECT_EQ(run_plan(*backend, made, seed),
              run_plan(*backend, make_plan(*backend, RandomGraph(seed).graph()), seed));
  }
  EXPECT_GT(caught, 0);
}

TEST(Plan, RefusesStoresThatWereNotMadeLegal) {
  Graph graph = parse_graph(
      "%0:f32[4] = variable() {role=\"scalar\"} \"a\"\n"
      "%1:f32[4] = relu(%0)\n"
      "%2:f32[4] = add(%0, %1)\n"
      "store %0 <- %1\n"
      "output %2 \"y\"\n");
  std::unique_ptr<Backend> backend = make_backend("reference");
  LoweredGraph lowered = backend->lower(graph, backend->target());
  EXPECT_ERROR(plan_memory(graph, lowered, lay_out_variables({&graph})), ErrorKind::Internal,
               "store to \"a\"");
}

}  // namespace
}  // namespace pounce
