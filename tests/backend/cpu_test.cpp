// The cpu backend: the same answers as the reference, and the same bits for any number of threads
// and, where evaluation needs it, for any batch around a sample.
#include <cstring>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/cpu/kernels.h"
#include "backend/op_cases.h"
#include "backend/registry.h"
#include "backend/run_graph.h"
#include "base/random.h"

namespace pounce {
namespace {

using Pair = std::vector<int64_t>;

std::unique_ptr<Backend> cpu(int threads) {
  return make_backend("cpu", {.threads = threads});
}

bool same_bits(const HostTensor& a, const HostTensor& b) {
  return a.type == b.type && a.bytes == b.bytes;
}

HostTensor random_tensor(const TensorType& type, uint64_t seed, double low = -1, double high = 1) {
  RandomStream random(seed, RandomPurpose::Test, 0, 0);
  std::vector<double> numbers(size_t(type.shape.elements()));
  for (double& number : numbers) number = random.uniform(low, high);
  return make_tensor(type, numbers);
}

// One node with its operands: the name of what its list took, and its outputs.
struct OneOp {
  OpKind op;
  std::vector<HostTensor> operands;
  Attributes attributes = {};

  Graph graph() const {
    Graph graph;
    std::vector<Value> values;
    for (size_t i = 0; i < operands.size(); ++i) {
      values.push_back(graph.add_input(std::to_string(i), operands[i].type));
    }
    std::vector<Value> outputs = graph.add(op, values, attributes);
    for (size_t i = 0; i < outputs.size(); ++i) graph.add_output(std::to_string(i), outputs[i]);
    return graph;
  }

  RunResult run(Backend& backend) const {
    Tensors inputs;
    for (size_t i = 0; i < operands.size(); ++i) inputs[std::to_string(i)] = operands[i];
    return run_graph(backend, graph(), inputs);
  }
};

void expect_same_outputs(const RunResult& found, const RunResult& expected,
                         const std::string& what) {
  for (const auto& [name, tensor] : expected.outputs) {
    EXPECT_TRUE(same_bits(found.outputs.at(name), tensor)) << what << ", output " << name;
  }
}

TEST(Cpu, DescribesItsTarget) {
  const Target target = cpu(0)->target();
  EXPECT_EQ(target.kind, DeviceKind::Cpu);
  EXPECT_GE(target.threads, 1);
  EXPECT_GT(target.l2_bytes, 0u);
  EXPECT_GT(target.memory_bytes, 0u);
  EXPECT_THAT(target.libraries, testing::StartsWith("oneDNN "));
}

TEST(Cpu, AgreesWithTheReference) {
  std::unique_ptr<Backend> reference = make_backend("reference");
  std::unique_ptr<Backend> backend = cpu(2);
  for (bool in_place : {false, true}) {
    for (const OpCase& op_case : op_cases()) {
      SCOPED_TRACE(op_case.name + (in_place ? " in place" : ""));
      Graph graph = build_case(op_case, DType::F32, in_place);
      Tensors inputs = case_inputs(op_case, DType::F32);
      RunResult expected = run_graph(*reference, graph, inputs);
      RunResult found = run_graph(*backend, graph, inputs);
      for (const auto& [name, tensor] : expected.outputs) {
        if (is_floating(tensor.type.dtype)) {
          EXPECT_LE(relative_error(found.outputs.at(name), tensor), op_case.tolerance) << name;
        } else {
          EXPECT_EQ(found.outputs.at(name), tensor) << name;
        }
      }
    }
  }
}

TEST(Cpu, ServesF64ThroughTheReference) {
  std::unique_ptr<Backend> reference = make_backend("reference");
  std::unique_ptr<Backend> backend = cpu(2);
  for (const OpCase& op_case : op_cases()) {
    Graph graph = build_case(op_case, DType::F64);
    Tensors inputs = case_inputs(op_case, DType::F64);
    RunResult found = run_graph(*backend, graph, inputs);
    EXPECT_LE(found.outputs.size(), graph.outputs().size());
    expect_same_outputs(found, run_graph(*reference, graph, inputs), op_case.name);
  }
}

TEST(Cpu, ThreadsDoNotChangeABit) {
  std::vector<std::unique_ptr<Backend>> backends;
  for (int threads : {1, 2, 4, 7}) backends.push_back(cpu(threads));
  for (const OpCase& op_case : op_cases()) {
    Graph graph = build_case(op_case, DType::F32);
    Tensors inputs = case_inputs(op_case, DType::F32);
    RunResult expected = run_graph(*backends[0], graph, inputs);
    for (size_t i = 1; i < backends.size(); ++i) {
      expect_same_outputs(run_graph(*backends[i], graph, inputs), expected, op_case.name);
    }
  }
}

// A convolution as networks have them.
struct Layer {
  int64_t channels, out_channels, size, kernel, stride, groups = 1;

  int64_t pad() const { return kernel / 2; }
  int64_t out_size() const { return (size + 2 * pad() - kernel) / stride + 1; }
  std::string name() const {
    return fmt::format("{}x{} stride {}, {} to {} channels in {} groups at {}", kernel, kernel,
                       stride, channels, out_channels, groups, size);
  }
  Attributes window() const {
    return {{"stride", Pair{stride, stride}}, {"padding", Pair{pad(), pad()}}, {"groups", groups}};
  }
  HostTensor x(int64_t batch) const {
    return random_tensor({DType::F32, {batch, size, size, channels}}, 1);
  }
  HostTensor weights() const {
    return random_tensor({DType::F32, {out_channels, kernel, kernel, channels / groups}}, 2);
  }
  HostTensor grad_y(int64_t batch) const {
    return random_tensor({DType::F32, {batch, out_size(), out_size(), out_channels}}, 3);
  }

  OneOp forward(int64_t batch) const { return {OpKind::Conv2d, {x(batch), weights()}, window()}; }
  OneOp bwd_data(int64_t batch) const {
    Attributes attributes = window();
    attributes.set("height", size);
    attributes.set("width", size);
    return {OpKind::Conv2dBwdData, {grad_y(batch), weights()}, attributes};
  }
  OneOp bwd_weights(int64_t batch) const {
    Attributes attributes = window();
    attributes.set("kernel", Pair{kernel, kernel});
    return {OpKind::Conv2dBwdWeights, {x(batch), grad_y(batch)}, attributes};
  }
};

// Every kind in ResNet-18, ResNet-50 and the small network, at 64 pixels and below.
constexpr Layer kLayers[] = {
    {3, 64, 64, 7, 2},
    {64, 64, 16, 3, 1},
    {64, 128, 16, 3, 2},
    {64, 128, 16, 1, 2},
    {128, 128, 8, 3, 1},
    {128, 256, 8, 3, 2},
    {256, 256, 4, 3, 1},
    {256, 512, 4, 3, 2},
    {512, 512, 2, 3, 1},
    {64, 256, 16, 1, 1},
    {256, 64, 16, 1, 1},
    {512, 1024, 8, 1, 2},
    {1024, 256, 4, 1, 1},
    {2048, 512, 2, 1, 1},
    {512, 512, 5, 3, 1},
    {3, 32, 32, 3, 1},
    {32, 64, 32, 3, 2},
    {24, 40, 14, 3, 1},
    {56, 56, 7, 3, 1},
    // Depthwise as in ConvNeXt and MobileNet, grouped as in ResNeXt.
    {96, 96, 14, 7, 1, 96},
    {64, 64, 16, 3, 2, 64},
    {24, 24, 9, 5, 2, 24},
    {128, 128, 8, 3, 1, 32},
    {64, 64, 8, 3, 2, 4},
};

TEST(Cpu, ThreadsDoNotChangeABitOfConvolutions) {
  constexpr int64_t kBatch = 5;
  std::vector<std::unique_ptr<Backend>> backends;
  for (int threads : {1, 2, 4, 7}) backends.push_back(cpu(threads));
  for (const Layer& layer : kLayers) {
    for (const OneOp& op :
         {layer.forward(kBatch), layer.bwd_data(kBatch), layer.bwd_weights(kBatch)}) {
      RunResult expected = op.run(*backends[0]);
      // The stem has no use for its data gradient, and oneDNN no fast one everywhere.
      bool needed = layer.channels >= 16 || op.op != OpKind::Conv2dBwdData;
      if (backends[0]->target().isa != CpuIsa::Baseline && needed) {
        EXPECT_NE(expected.lowered.nodes.back().implementation, "reference") << layer.name();
      }
      for (size_t i = 1; i < backends.size(); ++i) {
        expect_same_outputs(op.run(*backends[i]), expected,
                            fmt::format("{} {}", op_info(op.op).name, layer.name()));
      }
    }
  }
}

TEST(Cpu, WeightGradientsOfManyPixelsAreExactEnough) {
  std::unique_ptr<Backend> reference = make_backend("reference");
  std::unique_ptr<Backend> backend = cpu(2);
  // Deep enough to be cut into slices, with windows over every edge.
  for (const Layer& layer : {Layer{8, 13, 48, 3, 1}, Layer{3, 16, 90, 7, 2}, Layer{33, 8, 60, 1, 2},
                             Layer{5, 8, 33, 5, 3}}) {
    OneOp op = layer.bwd_weights(4);
    HostTensor found = op.run(*backend).outputs.at("0");
    EXPECT_LE(relative_error(found, op.run(*reference).outputs.at("0")), 1e-5) << layer.name();
  }
}

// The first `batch` samples of the first operand and of those of its type; the rest are weights.
OneOp first_samples(const OneOp& op, int64_t batch) {
  OneOp part = op;
  for (HostTensor& tensor : part.operands) {
    if (tensor.type != op.operands[0].type) continue;
    std::vector<int64_t> extents(tensor.type.shape.extents().begin(),
                                 tensor.type.shape.extents().end());
    extents[0] = batch;
    tensor.type.shape = Shape(extents);
    tensor.bytes.resize(size_t(tensor.type.bytes()));
  }
  return part;
}

// Samples' bits do not depend on the batch: of 64, 16, 3 and 1.
void expect_batch_invariant(const OneOp& op, const std::string& what) {
  std::unique_ptr<Backend> backend = cpu(2);
  RunResult whole = op.run(*backend);
  for (int64_t batch : {1, 3, 16}) {
    RunResult part = first_samples(op, batch).run(*backend);
    for (const auto& [name, tensor] : part.outputs) {
      const std::vector<std::byte>& all = whole.outputs.at(name).bytes;
      EXPECT_EQ(std::memcmp(tensor.bytes.data(), all.data(), tensor.bytes.size()), 0)
          << what << ", batch " << batch << ", output " << name;
    }
  }
}

TEST(Cpu, BatchesDoNotChangeABitOfConvolutions) {
  for (const Layer& layer : kLayers) expect_batch_invariant(layer.forward(64), layer.name());
}

TEST(Cpu, BatchesDoNotChangeABitOfEvaluation) {
  auto f32 = [](const Shape& shape, uint64_t seed) {
    return random_tensor({DType::F32, shape}, seed);
  };
  HostTensor x = f32({64, 12, 12, 24}, 1), channels = f32({24}, 2);
  HostTensor variance = random_tensor({DType::F32, {24}}, 3, 0.5, 2);
  HostTensor images = random_tensor({DType::U8, {64, 33, 33, 3}}, 4, 0, 256);
  const std::vector<double> thirds = {0.3, 0.4, 0.5};
  const Attributes pool = {{"kernel", Pair{3, 3}}, {"stride", Pair{2, 2}}, {"padding", Pair{1, 1}}};
  const OneOp ops[] = {
      {OpKind::NormalizeImage, {images}, {{"mean", thirds}, {"std", thirds}}},
      {OpKind::BatchNormInference, {x, channels, channels, channels, variance}},
      {OpKind::Relu, {x}},
      {OpKind::Add, {x, x}},
      {OpKind::MaxPool, {x}, pool},
      {OpKind::GlobalAvgPool, {x}},
      {OpKind::BiasAdd, {f32({64, 37}, 5), f32({37}, 6)}},
      {OpKind::Add, {x, channels}},
      {OpKind::Gelu, {x}},
      {OpKind::GeluTanh, {x}},
      {OpKind::Silu, {x}},
      {OpKind::HardSwish, {x}},
      {OpKind::Sigmoid, {x}},
      {OpKind::Softmax, {x}},
      {OpKind::LogSoftmax, {f32({64, 37}, 5)}},
      {OpKind::LayerNorm, {x, channels, channels}},
      {OpKind::AvgPool, {x}, pool},
      {OpKind::ReduceMean, {x}, {{"axes", Pair{1, 2}}}},
      {OpKind::Transpose, {x}, {{"permutation", Pair{0, 3, 1, 2}}}},
      {OpKind::BatchMatMul, {x, x}, {{"transpose_b", int64_t{1}}}},
      {OpKind::BatchMatMul,
       {f32({64, 3, 65, 40}, 8), f32({64, 3, 65, 40}, 9)},
       {{"transpose_b", int64_t{1}}}},
  };
  for (const OneOp& op : ops) expect_batch_invariant(op, std::string(op_info(op.op).name));
  for (int64_t depth : {32, 512, 2048}) {
    for (int64_t classes : {10, 37, 1000}) {
      OneOp linear = {OpKind::MatMul,
                      {f32({64, depth}, 7), f32({classes, depth}, 8)},
                      {{"transpose_b", int64_t{1}}}};
      expect_batch_invariant(linear, fmt::format("matmul {} by {}", depth, classes));
    }
  }
}

TEST(Cpu, BatchNormKeepsSmallVariancesOfLargeMeans) {
  std::vector<double> numbers(4096);
  RandomStream random(1, RandomPurpose::Test, 0, 0);
  for (double& number : numbers) number = 1000 + random.normal();
  auto channel = [](double number) { return make_tensor({DType::F32, {1}}, {&number, 1}); };
  OneOp op = {OpKind::BatchNorm,
              {make_tensor({DType::F32, {4096, 1}}, numbers), channel(2), channel(1), channel(0),
               channel(0)},
              {{"momentum", 1.0}}};
  RunResult expected = op.run(*make_backend("reference"));
  RunResult found = op.run(*cpu(2));
  for (const char* output : {"0", "1", "2", "3", "4"}) {
    EXPECT_LE(relative_error(found.outputs.at(output), expected.outputs.at(output)), 1e-6)
        << output;
  }
}

TEST(Cpu, ListsEndWithTheReference) {
  for (const OpInfo& op : op_table()) {
    std::span<const Implementation> list = cpu::implementations(op.kind);
    if (op.kind == OpKind::Input || op.kind == OpKind::Variable) {
      EXPECT_TRUE(list.empty());
      continue;
    }
    ASSERT_FALSE(list.empty()) << op.name;
    EXPECT_EQ(list.back().name, "reference") << op.name;
    for (const Implementation& implementation : list) {
      EXPECT_FALSE(implementation.name.empty());
      EXPECT_TRUE(implementation.thread_invariant) << op.name;
      EXPECT_NE(implementation.make, nullptr) << op.name;
    }
  }
}

TEST(Cpu, RefusesWithReasons) {
  std::unique_ptr<Backend> backend = cpu(2);
  auto reason = [&](const OneOp& op) {
    LoweredGraph lowered = backend->lower(op.graph(), backend->target());
    const LoweredNode& node = lowered.nodes.back();
    EXPECT_EQ(node.implementation, "reference");
    return node.refusals.empty() ? "" : node.refusals[0].reason;
  };
  Layer layer{4, 4, 8, 3, 1};
  OneOp wide = layer.forward(2);
  for (HostTensor& tensor : wide.operands) tensor.type.dtype = DType::F64;
  EXPECT_EQ(reason(wide), "a tensor is f64, only f32 is served");
  OneOp grouped = {OpKind::Conv2dBwdWeights,
                   {layer.x(2), random_tensor({DType::F32, {2, 4, 4, 4}}, 1)},
                   {{"groups", int64_t{2}}, {"dilation", Pair{2, 2}}, {"kernel", Pair{3, 3}}}};
  EXPECT_EQ(reason(grouped), "2 groups, only one is served");
  OneOp dilated = {OpKind::Conv2dBwdWeights,
                   {layer.x(2), random_tensor({DType::F32, {2, 4, 4, 4}}, 1)},
                   {{"dilation", Pair{2, 2}}, {"kernel", Pair{3, 3}}}};
  EXPECT_EQ(reason(dilated), "dilation [2,2], only [1,1] is served");
  for (const OpCase& op_case : op_cases()) {
    LoweredGraph lowered = backend->lower(build_case(op_case, DType::F64), backend->target());
    for (const LoweredNode& node : lowered.nodes) {
      for (const Refusal& refusal : node.refusals) EXPECT_FALSE(refusal.reason.empty());
    }
  }
}

}  // namespace
}  // namespace pounce
