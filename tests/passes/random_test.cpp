// Random graphs: no pass changes a bit of what a program leaves behind.
#include <map>

#include <gtest/gtest.h>

#include "backend/registry.h"
#include "ir/text.h"
#include "run_session.h"

namespace pounce {
namespace {

constexpr uint64_t kGraphs = 300;

SessionOptions without_optional_passes() {
  SessionOptions options;
  for (const Pass& pass : pass_list()) {
    if (!pass.required) options.passes.disabled.emplace_back(pass.name);
  }
  return options;
}

// Of the variables and outputs that both have: dead code takes unused variables away.
void expect_equal(const SessionResult& found, const SessionResult& expected) {
  EXPECT_EQ(found.outputs, expected.outputs);
  for (const auto& [name, bytes] : found.variables) {
    ASSERT_TRUE(expected.variables.contains(name)) << name;
    EXPECT_EQ(bytes, expected.variables.at(name)) << name;
  }
}

TEST(RandomGraphs, PrintAndParseBack) {
  for (uint64_t seed = 0; seed < kGraphs; ++seed) {
    SCOPED_TRACE(seed);
    RandomGraph random(seed);
    std::string text = print_graph(random.graph());
    ASSERT_EQ(print_graph(parse_graph(text)), text);
    for (const Pass& pass : pass_list()) {
      std::string after = print_graph(pass.run(random.graph(), {}));
      ASSERT_EQ(print_graph(parse_graph(after)), after) << pass.name;
    }
  }
}

TEST(RandomGraphs, OptionalPassesKeepEveryBit) {
  std::unique_ptr<Backend> backend = make_backend("reference");
  SessionOptions options = without_optional_passes();
  for (uint64_t seed = 0; seed < kGraphs; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    RandomGraph random(seed);
    SessionResult expected = run_session(*backend, random.graph(), seed, options);
    for (const Pass& pass : pass_list()) {
      if (pass.required) continue;
      SCOPED_TRACE(pass.name);
      expect_equal(run_session(*backend, pass.run(random.graph(), {}), seed, options), expected);
    }
    expect_equal(run_session(*backend, random.graph(), seed), expected);
    if (testing::Test::HasFailure()) FAIL() << print_graph(random.graph());
  }
}

// What the property above is worth: random graphs hold every kind of fusion.
TEST(RandomGraphs, AreFusedInEveryWay) {
  std::map<OpKind, int> counts;
  for (uint64_t seed = 0; seed < kGraphs; ++seed) {
    RandomGraph random(seed);
    Graph fused = fuse_elementwise(random.graph());
    for (const Node& node : fused.nodes()) ++counts[node.op];
  }
  for (OpKind op : {OpKind::Fused, OpKind::Conv2dFused, OpKind::MatMulFused, OpKind::BatchNormFused,
                    OpKind::BatchNormInferenceFused}) {
    EXPECT_GT(counts[op], 4) << op_info(op).name;
  }
}

// At no node is more memory alive, but for the scratch of an op that runs where its program stood.
TEST(RandomGraphs, FusionNeedsNoMoreMemory) {
  std::unique_ptr<Backend> backend = make_backend("reference");
  SessionOptions apart = without_optional_passes();
  int smaller = 0;
  for (uint64_t seed = 0; seed < kGraphs; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    RandomGraph random(seed);
    SingleProcess alone;
    SessionOptions together = apart;
    std::erase(together.passes.disabled, "fuse_elementwise");
    Session before(*backend, alone, {{"program", random.graph()}}, apart);
    Session after(*backend, alone, {{"program", random.graph()}}, together);
    size_t scratch = 0;
    for (const LoweredNode& node : after.lowered("program").nodes) {
      scratch = std::max(scratch, align_up(node.workspace_bytes));
    }
    size_t limit = before.plan("program").lower_bound_bytes;
    size_t found = after.plan("program").lower_bound_bytes;
    EXPECT_LE(found, limit + scratch);
    smaller += found < limit;
    if (testing::Test::HasFailure()) FAIL() << print_graph(after.graph("program"));
  }
  EXPECT_GT(smaller, 10);
}

// The same graph without stores, their values being outputs: needs no legalising.
Graph stores_as_outputs(const Graph& graph) {
  std::string text = print_graph(graph);
  size_t first = text.find("store "), end = text.find("output ");
  text.erase(std::min(first, end), end - std::min(first, end));
  Graph result = parse_graph(text);
  for (const Store& store : graph.stores()) {
    result.add_output("store of " + graph.nodes()[size_t(graph.producer(store.variable))].name,
                      store.value);
  }
  return result;
}

TEST(RandomGraphs, StoresArriveAndOutputsAreOldValues) {
  std::unique_ptr<Backend> backend = make_backend("reference");
  SessionOptions options = without_optional_passes();
  for (uint64_t seed = 0; seed < kGraphs; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    RandomGraph random(seed);
    SessionResult expected =
        run_session(*backend, stores_as_outputs(random.graph()), seed, options);
    SessionResult found = run_session(*backend, random.graph(), seed, options);
    for (const auto& [name, bytes] : found.outputs) EXPECT_EQ(bytes, expected.outputs.at(name));
    for (const auto& [name, bytes] : found.variables) {
      auto stored = expected.outputs.find("store of " + name);
      EXPECT_EQ(bytes,
                stored != expected.outputs.end() ? stored->second : expected.variables.at(name))
          << name;
    }
    if (testing::Test::HasFailure()) FAIL() << print_graph(random.graph());
  }
}

}  // namespace
}  // namespace pounce
