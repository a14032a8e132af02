#include "backend/kernels/elementwise.h"

#include <algorithm>

#include <fmt/format.h>

#include "backend/kernels/families.h"
#include "backend/kernels/walk.h"
#include "base/error.h"

namespace pounce::kernels {

Launch elementwise_launch(const ElementwiseOperand& result,
                          const std::vector<ElementwiseOperand>& operands, std::string body) {
  POUNCE_ASSERT(!operands.empty() && operands.size() <= kMostElementwiseInputs);
  Launch launch{.program = {"elementwise", {}}, .entry = "elementwise", .items = kItems};
  auto& defines = launch.program.defines;
  defines.emplace_back("INPUTS", fmt::format("{}", operands.size()));
  std::vector<std::vector<int64_t>> strides;
  int64_t count = result.type.shape.elements(), most = count;
  for (const ElementwiseOperand& operand : operands) {
    defines.emplace_back(fmt::format("X{}_TYPE", strides.size()), storage(operand.type.dtype));
    launch.arguments.emplace_back(operand.operand);
    strides.push_back(operand.strides);
    most = std::max(most, operand.type.shape.elements());
  }
  defines.emplace_back("Y_TYPE", storage(result.type.dtype));
  defines.emplace_back("BODY", std::move(body));
  launch.arguments.emplace_back(result.operand);

  OperandWalk walk(result.type.shape, strides);
  if (walk.is_flat()) {
    launch.arguments.emplace_back(count);
    launch.groups[0] = groups_for(count, kElementsAGroup);
    return launch;
  }
  IndexType index(most);
  defines.emplace_back("RANK", fmt::format("{}", walk.rank()));
  defines.emplace_back("INDEX", index.name());
  for (const std::vector<int64_t>& own : walk.strides) {
    for (int64_t stride : own) launch.arguments.push_back(index(stride));
  }
  for (size_t axis = 1; axis < walk.rank(); ++axis) {
    launch.arguments.push_back(index(walk.extents[axis]));
  }
  launch.arguments.push_back(index(count));
  launch.groups[0] = groups_for(count, kItems);
  return launch;
}

std::vector<Launch> elementwise_launches(const NodeContext& context, std::string body) {
  const Shape& shape = context.output(0).shape;
  std::vector<ElementwiseOperand> operands;
  for (size_t i = 0; i < context.node.inputs.size(); ++i) {
    const TensorType& type = context.input(i);
    operands.push_back({input(i), type, broadcast_strides(shape, type.shape)});
  }
  ElementwiseOperand result{output(0), context.output(0), contiguous_strides(shape)};
  return {elementwise_launch(result, operands, std::move(body))};
}

namespace {

std::vector<Launch> launch_formula(const NodeContext& context) {
  const OpInfo& info = op_info(context.node.op);
  const char* operands = info.inputs.size() == 1 ? "a = x0" : "a = x0, b = x1";
  return elementwise_launches(context,
                              fmt::format("const float {}; y = {};", operands, info.formula));
}

std::vector<Launch> launch_bias_add(const NodeContext& context) {
  return elementwise_launches(context, "y = x0 + x1;");
}

std::vector<Launch> launch_cast(const NodeContext& context) {
  return elementwise_launches(context, "y = x0;");
}

}  // namespace

std::vector<Row> elementwise_kernels() {
  std::vector<Row> rows;
  for (const OpInfo& op : op_table()) {
    if (op.formula.empty()) continue;
    rows.push_back(
        {op.kind, {.name = "elementwise", .refuse = refuse_f64, .launches = launch_formula}});
  }
  rows.push_back({OpKind::BiasAdd,
                  {.name = "elementwise", .refuse = refuse_f64, .launches = launch_bias_add}});
  rows.push_back(
      {OpKind::Cast, {.name = "elementwise", .refuse = refuse_f64, .launches = launch_cast}});
  return rows;
}

}  // namespace pounce::kernels
