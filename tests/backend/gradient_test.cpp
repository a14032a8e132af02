// Finite differences in double on the reference, for every op that has a gradient.
#include <cmath>
#include <numeric>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "autodiff/autodiff.h"
#include "backend/op_cases.h"
#include "backend/registry.h"
#include "base/checksum.h"
#include "base/random.h"

namespace pounce {
namespace {

constexpr double kStep = 3e-5;
constexpr double kTolerance = 1e-6;

// Elements tried of each input: all of few, a random choice of many, fewer where a run is long.
std::vector<size_t> elements_to_try(size_t elements, double flops, RandomStream& random) {
  size_t limit = flops > 2e5 ? 16 : 64;
  std::vector<size_t> chosen(elements);
  std::iota(chosen.begin(), chosen.end(), size_t{0});
  if (elements <= limit) return chosen;
  for (size_t& index : chosen) index = random.below(uint32_t(elements));
  chosen.resize(limit);
  return chosen;
}

double flops_of(const Graph& graph) {
  const Node& node = graph.nodes().back();
  auto* flops = op_info(node.op).flops;
  return flops ? flops(graph, node) : double(graph.type(node.outputs[0]).shape.elements());
}

std::string cotangent_name(const OpCase& op_case, size_t output) {
  return fmt::format("cotangent of {}", op_info(op_case.op).outputs[output]);
}

// Random weights for every differentiable output; the loss is their product with the outputs.
Tensors random_cotangents(const OpCase& op_case, const Graph& graph, RandomStream& random) {
  Tensors cotangents;
  for (size_t output : op_case.differentiable_outputs) {
    const TensorType& type = graph.type(graph.nodes().back().outputs[output]);
    std::vector<double> numbers(size_t(type.shape.elements()));
    for (double& number : numbers) number = random.uniform(-1, 1);
    cotangents[cotangent_name(op_case, output)] = make_tensor(type, numbers);
  }
  return cotangents;
}

double loss_of(const OpCase& op_case, const Tensors& outputs, const Tensors& cotangents) {
  double loss = 0;
  for (size_t output : op_case.differentiable_outputs) {
    std::vector<double> y =
        numbers_of(outputs.at(std::string(op_info(op_case.op).outputs[output])));
    std::vector<double> weights = numbers_of(cotangents.at(cotangent_name(op_case, output)));
    loss += std::inner_product(y.begin(), y.end(), weights.begin(), 0.0);
  }
  return loss;
}

// The outputs named like the inputs they are gradients of.
Graph build_backward(const OpCase& op_case) {
  Graph forward = build_case(op_case, DType::F64);
  Graph graph;
  std::vector<Value> inputs, outputs, cotangents, wanted;
  for (const Node& node : forward.nodes()) {
    if (node.op == OpKind::Input) {
      inputs.push_back(graph.add_input(node.name, forward.type(node.outputs[0])));
    }
  }
  std::vector<Value> all = graph.add(op_case.op, inputs, op_case.attributes, op_case.name);
  for (size_t output : op_case.differentiable_outputs) {
    outputs.push_back(all[output]);
    cotangents.push_back(graph.add_input(cotangent_name(op_case, output), graph.type(all[output])));
  }
  for (size_t input : op_case.differentiable_inputs) wanted.push_back(inputs[input]);
  std::vector<Value> grads = gradients(graph, outputs, cotangents, wanted);
  for (size_t i = 0; i < grads.size(); ++i) {
    graph.add_output(input_name(op_info(op_case.op), op_case.differentiable_inputs[i]), grads[i]);
  }
  return graph;
}

struct Comparison {
  double difference = 0, numeric = 0;  // squared norms over the elements tried
};

Comparison compare_input(Backend& backend, const OpCase& op_case, const std::string& name,
                         const Tensors& cotangents, const HostTensor& gradient) {
  Graph forward = build_case(op_case, DType::F64);
  Tensors inputs = case_inputs(op_case, DType::F64);
  std::vector<double> x = numbers_of(inputs.at(name));
  std::vector<double> analytic = numbers_of(gradient);
  RandomStream random(3, RandomPurpose::Test, 0, xxh3_64(op_case.name));
  Comparison result;
  for (size_t i : elements_to_try(x.size(), flops_of(forward), random)) {
    auto loss_at = [&](double value) {
      std::vector<double> moved = x;
      moved[i] = value;
      inputs[name] = make_tensor(inputs[name].type, moved);
      return loss_of(op_case, run_graph(backend, forward, inputs).outputs, cotangents);
    };
    double numeric = (loss_at(x[i] + kStep) - loss_at(x[i] - kStep)) / (2 * kStep);
    result.difference += (numeric - analytic[i]) * (numeric - analytic[i]);
    result.numeric += numeric * numeric;
  }
  return result;
}

TEST(Gradient, AgreesWithFiniteDifferences) {
  std::unique_ptr<Backend> backend = make_backend("reference");
  double worst = 0;
  std::string worst_name;
  int checked = 0;
  for (const OpCase& op_case : op_cases()) {
    if (op_case.differentiable_inputs.empty()) continue;
    SCOPED_TRACE(op_case.name);
    RandomStream random(2, RandomPurpose::Test, 0, xxh3_64(op_case.name));
    Graph forward = build_case(op_case, DType::F64);
    Tensors cotangents = random_cotangents(op_case, forward, random);
    Tensors inputs = case_inputs(op_case, DType::F64);
    inputs.insert(cotangents.begin(), cotangents.end());
    Tensors analytic = run_graph(*backend, build_backward(op_case), inputs).outputs;
    for (auto& [name, gradient] : analytic) {
      Comparison result = compare_input(*backend, op_case, name, cotangents, gradient);
      double error = std::sqrt(result.difference / result.numeric);
      if (result.difference == 0) error = 0;
      EXPECT_LE(error, kTolerance) << "gradient of " << name;
      if (error > worst) worst = error, worst_name = op_case.name + " " + name;
      ++checked;
    }
  }
  RecordProperty("gradients", checked);
  RecordProperty("worst", fmt::format("{:.2g} {}", worst, worst_name));
}

TEST(OpCases, CoverEveryOpAndEveryGradient) {
  std::set<OpKind> covered, differentiated;
  std::set<std::string> names;
  for (const OpCase& op_case : op_cases()) {
    EXPECT_TRUE(names.insert(op_case.name).second) << op_case.name << " is there twice";
    covered.insert(op_case.op);
    if (!op_case.differentiable_inputs.empty()) differentiated.insert(op_case.op);
  }
  for (const OpInfo& info : op_table()) {
    if (info.infer == nullptr) continue;  // leaves
    EXPECT_TRUE(covered.contains(info.kind)) << info.name << " has no case";
    EXPECT_EQ(differentiated.contains(info.kind), is_differentiable(info.kind)) << info.name;
  }
}

}  // namespace
}  // namespace pounce
