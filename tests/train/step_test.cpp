// Training steps as graphs and plans: text form, placements of gradients and parameters, how near
// plans come to the lower bound.
#include "train/step.h"

#include <cstdio>
#include <map>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "backend/registry.h"
#include "ir/text.h"
#include "nn/resnet.h"
#include "passes/pass.h"
#include "plan/plan.h"

namespace pounce {
namespace {

StepSpec spec_of(const std::string& model, int64_t image_size) {
  StepSpec spec;
  spec.network = [model](Graph& graph, Value images, int64_t classes, bool training) {
    return build_network(model, graph, images, classes, training);
  };
  spec.classes = 10;
  spec.image_size = image_size;
  spec.updates = 100;
  return spec;
}

StepSpec narrow(bool bottleneck) {
  StepSpec spec = spec_of("", 32);
  spec.network = [bottleneck](Graph& graph, Value images, int64_t classes, bool training) {
    return build_resnet({.bottleneck = bottleneck, .blocks = {1, 2, 1, 1}, .width = 4}, graph,
                        images, classes, training);
  };
  return spec;
}

struct Planned {
  Graph graph;
  LoweredGraph lowered;
  VariableLayout variables;
  Plan plan;
};

Planned make_plan(const Backend& backend, const Graph& graph, const PassOptions& options = {}) {
  Planned made;
  made.graph = run_passes(graph, options, nullptr);
  made.lowered = backend.lower(made.graph, backend.target());
  made.variables = lay_out_variables({&made.graph});
  made.plan = plan_memory(made.graph, made.lowered, made.variables);
  check_plan(made.graph, made.lowered, made.plan);
  return made;
}

int count_ops(const Graph& graph, OpKind op) {
  int count = 0;
  for (const Node& node : graph.nodes()) count += node.op == op;
  return count;
}

TEST(StepText, PrintsAndParsesBack) {
  for (const char* model : {"cnn", "resnet18", "resnet50"}) {
    StepSpec spec = spec_of(model, 64);
    for (const Graph& graph : {build_fused_step(spec, 4), build_accumulate(spec, 4),
                               build_update(spec), build_evaluation(spec, 4)}) {
      std::string text = print_graph(graph);
      EXPECT_EQ(print_graph(parse_graph(text)), text);
      std::string after = print_graph(run_passes(graph, {}, nullptr));
      EXPECT_EQ(print_graph(parse_graph(after)), after);
    }
  }
}

// All that networks have between convolutions runs in normalisations, the sum of two gradients and
// the gradient of what follows it in one node, and what is planned does not grow.
TEST(StepFusion, LeavesNoActivationAloneAndNeedsNoMoreMemory) {
  std::unique_ptr<Backend> backend = make_backend("cpu", {.threads = 2});
  for (const char* model : {"cnn", "resnet18", "resnet50"}) {
    SCOPED_TRACE(model);
    StepSpec spec = spec_of(model, 64);
    for (const Graph& graph : {build_fused_step(spec, 4), build_evaluation(spec, 4)}) {
      Planned together = make_plan(*backend, graph);
      Planned apart = make_plan(*backend, graph, {.disabled = {"fuse_elementwise"}});
      EXPECT_LE(together.plan.planned_bytes, apart.plan.planned_bytes);
      EXPECT_GT(count_ops(apart.graph, OpKind::Relu), 3);
      EXPECT_EQ(count_ops(together.graph, OpKind::Relu), 0);
      EXPECT_LE(count_ops(together.graph, OpKind::Add), 1);  // into the gradient of a max_pool
      int norms = count_ops(apart.graph, OpKind::BatchNorm) +
                  count_ops(apart.graph, OpKind::BatchNormInference);
      int fused = count_ops(together.graph, OpKind::BatchNormFused) +
                  count_ops(together.graph, OpKind::BatchNormInferenceFused);
      int relus = count_ops(apart.graph, OpKind::Relu);
      EXPECT_EQ(fused, relus);
      EXPECT_LE(fused, norms);
    }
  }
}

std::string optimizer_name(const testing::TestParamInfo<OptimizerKind>& row) {
  constexpr const char* kNames[] = {"adamw", "adam", "sgd"};
  return kNames[size_t(row.param)];
}

class StepPlacement : public testing::TestWithParam<OptimizerKind> {};

// Weight gradients are computed where the optimizer reads them; parameters and moments change in
// their own memory: nothing of the size of the weights is ever copied.
TEST_P(StepPlacement, GradientsAndUpdatesLieInPlace) {
  std::vector<StepSpec> specs = {spec_of("cnn", 32), spec_of("resnet18", 64), narrow(false),
                                 narrow(true)};
  for (std::string_view name : backend_names()) {
    std::unique_ptr<Backend> backend = make_backend(name);
    for (StepSpec& spec : specs) {
      spec.optimizer.kind = GetParam();
      Planned made = make_plan(*backend, build_fused_step(spec, 4));
      EXPECT_EQ(count_ops(made.graph, OpKind::Copy), 0);
      for (const Store& store : made.graph.stores()) {
        EXPECT_EQ(made.plan.values[size_t(store.value.id)],
                  made.plan.values[size_t(store.variable.id)]);
      }
      for (const Node& node : made.graph.nodes()) {
        if (node.op != OpKind::AllReduce) continue;
        const Placement& source = made.plan.values[size_t(node.inputs[0].id)];
        EXPECT_EQ(source, made.plan.values[size_t(node.outputs[0].id)]);
        EXPECT_EQ(source.arena, Arena::Persistent)
            << made.graph.describe(made.graph.nodes()[size_t(made.graph.producer(node.inputs[0]))]);
        EXPECT_GE(source.offset, made.variables.gradients_offset);
        EXPECT_LE(source.offset + source.bytes,
                  made.variables.gradients_offset + made.variables.gradients_bytes);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Optimizers, StepPlacement,
                         testing::Values(OptimizerKind::Sgd, OptimizerKind::Adam,
                                         OptimizerKind::AdamW),
                         optimizer_name);

// The node that first computed the gradient which is stored in the variable.
int completion_of(const Graph& graph, Value value) {
  const Node& node = graph.nodes()[size_t(graph.producer(value))];
  bool passes_on = node.op == OpKind::AllReduce || node.op == OpKind::Add;
  return passes_on ? graph.producer(node.inputs.back()) : graph.producer(value);
}

TEST(StepPlans, GradientsAreContiguousInOrderOfCompletion) {
  for (bool accumulate : {false, true}) {
    StepSpec spec = spec_of("resnet18", 64);
    Graph graph =
        run_passes(accumulate ? build_accumulate(spec, 2) : build_fused_step(spec, 2), {}, nullptr);
    VariableLayout layout = lay_out_variables({&graph});
    std::map<int, Placement> by_completion;
    for (const Store& store : graph.stores()) {
      if (graph.role(store.variable) != VariableRole::Gradient) continue;
      const Node& variable = graph.nodes()[size_t(graph.producer(store.variable))];
      // A batch norm completes two gradients at once.
      int at = 2 * completion_of(graph, store.value);
      at += int(by_completion.contains(at));
      by_completion[at] = layout.placements.at(variable.name);
    }
    EXPECT_EQ(by_completion.size(), 62u);
    size_t end = layout.gradients_offset;
    for (const auto& [node, placement] : by_completion) {
      EXPECT_GE(placement.offset, end);
      EXPECT_LT(placement.offset, end + kPlacementAlignment);
      end = placement.offset + placement.bytes;
    }
    EXPECT_LE(end, layout.gradients_offset + layout.gradients_bytes);
    // The classifier's gradient is complete first.
    EXPECT_LT(layout.placements.at("gradient.fc.weight").offset,
              layout.placements.at("gradient.conv1.weight").offset);
  }
}

// Sums are added to, reduced, read and cleared where they lie.
TEST(StepPlans, AccumulationNeedsNoCopies) {
  std::unique_ptr<Backend> backend = make_backend("cpu");
  for (const char* model : {"cnn", "resnet18"}) {
    StepSpec spec = spec_of(model, 64);
    EXPECT_EQ(count_ops(make_plan(*backend, build_accumulate(spec, 4)).graph, OpKind::Copy), 0);
    Planned update = make_plan(*backend, build_update(spec));
    EXPECT_EQ(count_ops(update.graph, OpKind::Copy), 0);
    EXPECT_LE(update.plan.planned_bytes, 1024u) << print_plan(update.graph, update.plan);
  }
}

TEST(StepPlans, ComeNearTheLowerBound) {
  std::unique_ptr<Backend> backend = make_backend("cpu");
  for (const char* model : {"cnn", "resnet18", "resnet50"}) {
    Planned made = make_plan(*backend, build_fused_step(spec_of(model, 224), 16));
    double ratio = double(made.plan.planned_bytes) / double(made.plan.lower_bound_bytes);
    std::printf("plan %s, batch 16, 224 px, cpu: planned %zu, lower bound %zu, ratio %.4f\n", model,
                made.plan.planned_bytes, made.plan.lower_bound_bytes, ratio);
    EXPECT_GE(ratio, 1);
    EXPECT_LE(ratio, 1.05) << model;
  }
}

TEST(StepPlans, AreDeterministic) {
  std::unique_ptr<Backend> backend = make_backend("cpu");
  StepSpec spec = spec_of("resnet18", 96);
  Planned a = make_plan(*backend, build_fused_step(spec, 8));
  Planned b = make_plan(*backend, build_fused_step(spec, 8));
  EXPECT_EQ(print_graph(a.graph), print_graph(b.graph));
  EXPECT_EQ(a.plan.values, b.plan.values);
  EXPECT_EQ(a.plan.workspaces, b.plan.workspaces);
  EXPECT_EQ(print_plan(a.graph, a.plan), print_plan(b.graph, b.plan));
}

TEST(Step, TagsNameTheirTensor) {
  StepSpec spec = spec_of("cnn", 16);
  EXPECT_EQ(describe_stop_tag(spec, 0), "logits");
  EXPECT_EQ(describe_stop_tag(spec, 1), "loss");
  EXPECT_EQ(describe_stop_tag(spec, 2), "the gradient of features.0.weight");
  EXPECT_EQ(describe_stop_tag(spec, 15), "the gradient of fc.bias");
  EXPECT_EQ(describe_stop_tag(spec, 16), "the norm of all gradients");
  EXPECT_EQ(describe_stop_tag(spec, 17), "an unknown tensor");
}

}  // namespace
}  // namespace pounce
