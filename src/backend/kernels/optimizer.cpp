#include <cmath>

#include <fmt/format.h>

#include "backend/kernels/families.h"

namespace pounce::kernels {
namespace {

// Weights, gradients and moments are f32 in every precision.
std::optional<std::string> refuse_other_floats(const NodeContext& context) {
  DType dtype = context.input(0).dtype;
  if (dtype == DType::F32) return std::nullopt;
  return fmt::format("the parameter is {}, only f32 is served", dtype_name(dtype));
}

Launch update_launch(const NodeContext& context, const char* entry) {
  Launch launch{.program = {"optimizer", {}}, .entry = entry, .items = kItems};
  launch.groups[0] = groups_for(context.output(0).shape.elements(), kElementsAGroup);
  for (size_t i = 0; i < context.node.inputs.size(); ++i) launch.arguments.emplace_back(input(i));
  for (size_t i = 0; i < context.node.outputs.size(); ++i) launch.arguments.emplace_back(output(i));
  return launch;
}

std::vector<Launch> launch_sgd(const NodeContext& context) {
  const Attributes& attributes = context.node.attributes;
  Launch launch = update_launch(context, "sgd");
  launch.arguments.emplace_back(float(attributes.number("momentum")));
  launch.arguments.emplace_back(float(attributes.number("weight_decay")));
  launch.arguments.emplace_back(int32_t(attributes.integer("nesterov") != 0));
  launch.arguments.emplace_back(context.output(0).shape.elements());
  return {launch};
}

std::vector<Launch> launch_adam(const NodeContext& context) {
  const Attributes& attributes = context.node.attributes;
  Launch launch = update_launch(context, "adam");
  for (const char* name : {"beta1", "beta2"}) {
    double beta = attributes.number(name);
    launch.arguments.emplace_back(float(beta));
    launch.arguments.emplace_back(float(1 - beta));
    launch.arguments.emplace_back(float(std::log(beta)));
  }
  float decay = float(attributes.number("weight_decay"));
  bool decoupled = attributes.integer("decoupled") != 0;
  launch.arguments.emplace_back(float(attributes.number("eps")));
  launch.arguments.emplace_back(decoupled ? 0.0f : decay);
  launch.arguments.emplace_back(decoupled ? decay : 0.0f);
  launch.arguments.emplace_back(context.output(0).shape.elements());
  return {launch};
}

std::vector<Launch> launch_moving_average(const NodeContext& context) {
  Launch launch = update_launch(context, "moving_average");
  launch.arguments.emplace_back(float(1 - context.node.attributes.number("decay")));
  launch.arguments.emplace_back(context.output(0).shape.elements());
  return {launch};
}

}  // namespace

std::vector<Row> optimizer_kernels() {
  auto row = [](OpKind op, std::vector<Launch> (*launches)(const NodeContext&)) {
    return Row{op, {.name = "update", .refuse = refuse_other_floats, .launches = launches}};
  };
  return {row(OpKind::Sgd, launch_sgd), row(OpKind::Adam, launch_adam),
          row(OpKind::MovingAverage, launch_moving_average)};
}

}  // namespace pounce::kernels
