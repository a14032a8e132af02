// Half precision through a StepRunner on the reference: losses near those of fp32, planned memory,
// the layer that overflowed, and how auto steps down.
#include "train/precision.h"

#include <cmath>
#include <cstdio>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/host_backend.h"
#include "backend/kernels/launch.h"
#include "backend/reference/kernels.h"
#include "backend/registry.h"
#include "base/random.h"
#include "expect_error.h"
#include "nn/resnet.h"
#include "train/guarded_updates.h"

namespace pounce {
namespace {

using testing::HasSubstr;

constexpr int64_t kSize = 8;
constexpr int64_t kClasses = 3;
constexpr int kBatch = 8;

OpenDevice reference() {
  return {make_backend("reference"), "reference"};
}

StepSpec spec_of(NetworkBuilder network, DType precision) {
  StepSpec spec;
  spec.network = std::move(network);
  spec.classes = kClasses;
  spec.image_size = kSize;
  spec.optimizer = {.kind = OptimizerKind::Sgd};
  spec.updates = 1000;
  spec.precision = precision;
  return spec;
}

Network narrow_resnet(Graph& graph, Value images, int64_t classes, bool training) {
  return build_resnet({.bottleneck = false, .blocks = {1, 1, 1, 1}, .width = 8}, graph, images,
                      classes, training);
}

Network cnn(Graph& graph, Value images, int64_t classes, bool training) {
  return build_network("cnn", graph, images, classes, training);
}

// Right in fp32 and bf16; in fp16 the layer "scaled" overflows.
Network overflowing(Graph& graph, Value images, int64_t classes, bool training) {
  Layers layers(graph, training);
  Value x = layers.conv("first", images, 8, {.kernel = 3, .padding = 1});
  x = layers.relu(layers.batch_norm("bn1", x));
  Value factor =
      graph.add_one(OpKind::Fill, {}, {{"value", 1e5}, {"shape", std::vector<int64_t>{}}});
  x = graph.add_one(OpKind::Mul, {x, factor}, {}, "scaled");
  x = layers.relu(layers.batch_norm("bn2", x));
  Value logits = layers.linear("fc", layers.global_avg_pool(x), classes);
  return {logits, layers.take_state()};
}

struct Batch {
  std::vector<uint8_t> images;
  std::vector<int32_t> labels;
  std::vector<float> weights = std::vector<float>(kBatch, 1);

  // Each class with a brightness of its own.
  Batch() {
    RandomStream random(5, RandomPurpose::Test, 0, 0);
    for (int i = 0; i < kBatch; ++i) {
      labels.push_back(int32_t(i % kClasses));
      for (int64_t j = 0; j < kSize * kSize * 3; ++j) {
        images.push_back(uint8_t(60 * labels.back() + int(random.below(100))));
      }
    }
  }
};

void start(StepRunner& runner) {
  runner.initialize(3, 1);
  runner.set_learning_rates(std::vector<float>(size_t(runner.spec().updates), 0.02F));
}

double mean(const std::vector<float>& losses) {
  double sum = 0;
  for (float loss : losses) sum += double(loss);
  return sum / double(losses.size());
}

std::vector<double> loss_curve(const NetworkBuilder& network, DType precision, int steps) {
  StepRunner runner(reference(), spec_of(network, precision), {kBatch}, {});
  start(runner);
  Batch batch;
  std::vector<double> curve;
  for (int i = 0; i < steps; ++i) {
    curve.push_back(mean(runner.train(batch.images, batch.labels, batch.weights).losses));
    EXPECT_FALSE(runner.non_finite());
  }
  return curve;
}

// Of the residual network the first loss alone is compared: batches of so few values soon part.
TEST(HalfTraining, HasNearlyTheLossesOfFp32) {
  constexpr int kSteps = 20;
  struct Row {
    NetworkBuilder network;
    int compared;
  };
  for (const Row& row : {Row{cnn, kSteps}, Row{narrow_resnet, 1}}) {
    std::vector<double> single = loss_curve(row.network, DType::F32, kSteps);
    EXPECT_LT(single.back(), 0.05 * single.front());
    for (DType dtype : {DType::BF16, DType::F16}) {
      std::vector<double> half = loss_curve(row.network, dtype, kSteps);
      double worst = 0;
      for (int i = 0; i < row.compared; ++i) {
        worst = std::max(worst, std::abs(half[size_t(i)] - single[size_t(i)]));
      }
      std::printf("%s: loss %.4f to %.4f (fp32 %.4f), largest difference in %d steps %.4f\n",
                  std::string(precision_name(dtype)).c_str(), half.front(), half.back(),
                  single.back(), row.compared, worst);
      EXPECT_GT(worst, 0) << "half must differ";
      EXPECT_LT(worst, dtype == DType::F16 ? 0.005 : 0.02);
      EXPECT_LT(half.back(), 0.05 * half.front());
    }
  }
}

// As a backend of the shared GPU kernels lowers it, scratch memory included.
LoweredGraph lower_for_gpus(const Graph& graph) {
  Target target;
  target.kind = DeviceKind::OpenCl;
  LoweredGraph lowered;
  for (const Node& node : graph.nodes()) {
    LoweredNode& result = lowered.nodes.emplace_back();
    if (is_leaf(node.op)) continue;
    NodeContext context{graph, node, target};
    for (const kernels::Implementation& each : kernels::implementations(node.op)) {
      if (each.refuse != nullptr && each.refuse(context)) continue;
      result.implementation = each.name;
      if (each.workspace_bytes != nullptr) result.workspace_bytes = each.workspace_bytes(context);
      result.in_place = op_info(node.op).in_place;
      result.in_place.insert(result.in_place.end(), each.in_place.begin(), each.in_place.end());
      break;
    }
    EXPECT_FALSE(result.implementation.empty()) << op_info(node.op).name;
  }
  return lowered;
}

struct Bytes {
  size_t variables = 0, activations = 0, staging = 0;
  size_t largest_workspace = 0;  // of the activations' arena
  size_t all() const { return variables + activations + 2 * staging; }
};

// The step with AdamW.
Bytes plan_resnet50(DType precision) {
  StepSpec spec;
  spec.network = [](Graph& graph, Value images, int64_t classes, bool training) {
    return build_network("resnet50", graph, images, classes, training);
  };
  spec.classes = 1000;
  spec.image_size = 224;
  spec.precision = precision;
  Graph graph =
      run_passes(build_fused_step(spec, 64), {.disabled = {}, .precision = precision}, nullptr);
  LoweredGraph lowered = lower_for_gpus(graph);
  VariableLayout variables = lay_out_variables({&graph});
  Plan plan = plan_memory(graph, lowered, variables);
  check_plan(graph, lowered, plan);
  Bytes bytes{variables.bytes, plan.planned_bytes, plan.staging_bytes};
  for (const LoweredNode& node : lowered.nodes) {
    bytes.largest_workspace = std::max(bytes.largest_workspace, node.workspace_bytes);
  }
  return bytes;
}

TEST(HalfMemory, OfResNet50IsLittleOverHalf) {
  Bytes single = plan_resnet50(DType::F32);
  for (DType dtype : {DType::F16, DType::BF16}) {
    Bytes half = plan_resnet50(dtype);
    double activations = double(half.activations) / double(single.activations);
    double all = double(half.all()) / double(single.all());
    std::printf(
        "resnet50, batch 64, 224 px, %s: activations %zu of %zu bytes (%.3f), scratch at most "
        "%zu of %zu; variables %zu of %zu; staging %zu of %zu; all %zu of %zu (%.3f)\n",
        std::string(precision_name(dtype)).c_str(), half.activations, single.activations,
        activations, half.largest_workspace, single.largest_workspace, half.variables,
        single.variables, 2 * half.staging, 2 * single.staging, half.all(), single.all(), all);
    EXPECT_LE(activations, 0.55);
    EXPECT_LE(all, 0.65);
  }
}

TEST(HalfStep, KeepsVariablesInF32AndCopiesNothing) {
  StepSpec spec = spec_of(narrow_resnet, DType::F16);
  Graph graph =
      run_passes(build_fused_step(spec, 4), {.disabled = {}, .precision = DType::F16}, nullptr);
  for (const Node& node : graph.nodes()) {
    EXPECT_NE(node.op, OpKind::Copy);
    if (node.op == OpKind::Variable || node.op == OpKind::Input) {
      EXPECT_FALSE(is_half(graph.type(node.outputs[0]).dtype)) << node.name;
    }
    if (node.op == OpKind::Conv2d) {
      EXPECT_EQ(graph.type(node.outputs[0]).dtype, DType::F16) << node.name;
    }
    if (node.name == "fc") {
      EXPECT_EQ(graph.type(node.outputs[0]).dtype, DType::F32);
    }
  }
  Graph evaluation =
      run_passes(build_evaluation(spec, 4), {.disabled = {}, .precision = DType::F16}, nullptr);
  int halves = 0;
  for (const Node& node : evaluation.nodes()) {
    halves += node.op == OpKind::Conv2d && evaluation.type(node.outputs[0]).dtype == DType::F16;
  }
  EXPECT_EQ(halves, 12);
}

// The reference without bf16, as some GPUs.
class Fp16Only final : public HostBackend {
 public:
  explicit Fp16Only(Target target) : HostBackend(std::move(target)) {}
  std::string_view name() const override { return "fp16_only"; }

 protected:
  std::span<const Implementation> implementations(OpKind op) const override {
    static const std::vector<std::vector<Implementation>> table = [] {
      std::vector<std::vector<Implementation>> lists;
      for (const OpInfo& info : op_table()) {
        std::span<const Implementation> known = reference_implementations_with_half(info.kind);
        lists.emplace_back(known.begin(), known.end());
        for (Implementation& each : lists.back()) {
          if (each.name == "reference_half") each.refuse = refuse_bf16;
        }
      }
      return lists;
    }();
    return table[size_t(op)];
  }

 private:
  static std::optional<std::string> refuse_bf16(const NodeContext& context) {
    for (Value value : context.node.inputs) {
      if (context.graph.type(value).dtype == DType::BF16) return "no bf16 here";
    }
    return std::nullopt;
  }
};

// Trains `overflowing` under auto from fp16 on; returns the warnings.
std::vector<std::string> train_overflowing(OpenDevice device, DType expected) {
  StepRunner runner(std::move(device), spec_of(overflowing, DType::F16), {kBatch}, {});
  start(runner);
  Batch batch;
  std::vector<std::string> warnings;
  GuardedUpdates updates(runner, true,
                         [&](const std::string& warning) { warnings.push_back(warning); });
  std::vector<double> curve;
  for (int i = 0; i < 15; ++i) {
    UpdateOutcome outcome = updates.train(batch.images, batch.labels, batch.weights);
    EXPECT_FALSE(outcome.non_finite);
    curve.push_back(mean(outcome.result.losses));
    EXPECT_TRUE(std::isfinite(curve.back()));
  }
  EXPECT_EQ(runner.spec().precision, expected);
  EXPECT_EQ(runner.applied_updates(), 15);
  EXPECT_LT(curve.back(), curve.front());
  for (float value : runner.session().read_values<float>("bn2.running_var")) {
    EXPECT_TRUE(std::isfinite(value));
  }
  // From the start it would have been the same: the update that overflowed left nothing behind.
  std::vector<double> direct = loss_curve(overflowing, expected, 15);
  EXPECT_EQ(curve, direct);
  return warnings;
}

TEST(Overflow, AutoRepeatsTheUpdateInBf16) {
  std::vector<std::string> warnings = train_overflowing(reference(), DType::BF16);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_THAT(warnings[0], HasSubstr("fp16 overflowed in forward scaled (mul)"));
  EXPECT_THAT(warnings[0], HasSubstr("bn1 (batch_norm)"));
  EXPECT_THAT(warnings[0], HasSubstr("65504"));
  EXPECT_THAT(warnings[0], HasSubstr("repeated in bf16"));
}

TEST(Overflow, AutoRepeatsTheUpdateInFp32WhereThereIsNoBf16) {
  Target target;
  target.kind = DeviceKind::Reference;
  std::vector<std::string> warnings =
      train_overflowing({std::make_shared<Fp16Only>(target), "fp16 only"}, DType::F32);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_THAT(warnings[0], HasSubstr("repeated in fp32"));
}

TEST(Overflow, WithoutAutoItEndsWithTheReport) {
  StepRunner runner(reference(), spec_of(overflowing, DType::F16), {kBatch}, {});
  start(runner);
  Batch batch;
  GuardedUpdates updates(runner, false, [](const std::string&) { FAIL(); });
  UpdateOutcome outcome = updates.train(batch.images, batch.labels, batch.weights);
  ASSERT_TRUE(outcome.non_finite);
  EXPECT_EQ(outcome.non_finite->tensor, "logits");
  EXPECT_THAT(outcome.report, HasSubstr("scaled (mul)"));
  EXPECT_EQ(runner.applied_updates(), 0);
}

// Gradients that overflow at any scale: a report after twenty skips, then the end.
TEST(Overflow, TwentySkipsInARowAreReported) {
  StepRunner runner(reference(), spec_of(cnn, DType::F16), {kBatch}, {});
  start(runner);
  Batch batch;
  batch.weights.assign(kBatch, 1e12F);
  std::vector<std::string> warnings;
  GuardedUpdates updates(runner, false,
                         [&](const std::string& warning) { warnings.push_back(warning); });
  int attempts = 0;
  UpdateOutcome outcome;
  while (!outcome.non_finite && attempts < 40) {
    outcome = updates.train(batch.images, batch.labels, batch.weights);
    ++attempts;
    EXPECT_EQ(warnings.size(), attempts >= 20 ? 1u : 0u);
  }
  // 65536 halved 21 times is the lowest scale.
  EXPECT_EQ(attempts, 22);
  EXPECT_EQ(updates.skipped_updates(), 21);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_THAT(warnings[0], HasSubstr("20 updates in a row were skipped"));
  EXPECT_THAT(warnings[0], HasSubstr("backward"));
  EXPECT_THAT(outcome.non_finite->tensor, HasSubstr("the gradient of"));
}

TEST(Overflow, TwentySkipsUnderAutoStepDown) {
  StepRunner runner(reference(), spec_of(cnn, DType::F16), {kBatch}, {});
  start(runner);
  Batch batch;
  batch.weights.assign(kBatch, 1e12F);
  std::vector<std::string> warnings;
  GuardedUpdates updates(runner, true,
                         [&](const std::string& warning) { warnings.push_back(warning); });
  for (int i = 0; i < 20; ++i) updates.train(batch.images, batch.labels, batch.weights);
  EXPECT_EQ(runner.spec().precision, DType::BF16);
  EXPECT_EQ(warnings.size(), 1u);
  EXPECT_EQ(updates.skipped_updates(), 20);
  EXPECT_EQ(runner.applied_updates(), 1);
}

TEST(ChoosePrecision, SaysWhatCan) {
  std::unique_ptr<Backend> cpu = make_backend("cpu", {.threads = 1});
  EXPECT_EQ(choose_precision(Precision::Auto, *cpu), DType::F32);
  EXPECT_EQ(choose_precision(Precision::Fp32, *cpu), DType::F32);
  EXPECT_ERROR(choose_precision(Precision::Bf16, *cpu), ErrorKind::Device, "--precision bf16",
               "cpu", "f32");
  EXPECT_ERROR(choose_precision(Precision::Fp16, *cpu), ErrorKind::Device, "--precision fp16");
  std::unique_ptr<Backend> plain = make_backend("reference");
  EXPECT_EQ(choose_precision(Precision::Bf16, *plain), DType::BF16);
  EXPECT_EQ(choose_precision(Precision::Fp16, *plain), DType::F16);
  Target target;
  target.automatic_precision = DType::F16;
  Fp16Only gpu(target);
  EXPECT_EQ(choose_precision(Precision::Auto, gpu), DType::F16);
  EXPECT_EQ(wider_precision(DType::F16, gpu), DType::F32);
  EXPECT_EQ(wider_precision(DType::F16, *plain), DType::BF16);
  EXPECT_EQ(wider_precision(DType::BF16, *plain), DType::F32);
  EXPECT_EQ(wider_precision(DType::F32, *plain), std::nullopt);
}

TEST(ChoosePrecision, SaysWhyAutoIsFp32OnAGpu) {
  EXPECT_EQ(automatic_fp32_reason(*make_backend("cpu", {.threads = 1})), std::nullopt);
  Target target;
  target.kind = DeviceKind::OpenCl;
  std::optional<std::string> reason = automatic_fp32_reason(Fp16Only(target));
  ASSERT_TRUE(reason);
  EXPECT_THAT(*reason, testing::EndsWith("--precision fp16"));
  target.automatic_precision = DType::F16;
  EXPECT_EQ(automatic_fp32_reason(Fp16Only(target)), std::nullopt);
}

}  // namespace
}  // namespace pounce
