#include "ir/op.h"

#include <algorithm>
#include <unordered_map>

#include "base/error.h"
#include "ir/ops/families.h"

namespace pounce {
namespace {

std::vector<OpInfo> build_table() {
  std::vector<OpInfo> table;
  for (auto* family : {control_ops, image_ops, elementwise_ops, linear_ops, layout_ops, reduce_ops,
                       conv_ops, norm_ops, pool_ops, loss_ops, optimizer_ops, fused_ops}) {
    std::vector<OpInfo> rows = family();
    table.insert(table.end(), rows.begin(), rows.end());
  }
  for (size_t i = 0; i < table.size(); ++i) POUNCE_ASSERT(size_t(table[i].kind) == i);
  return table;
}

}  // namespace

std::span<const OpInfo> op_table() {
  static const std::vector<OpInfo> table = build_table();
  return table;
}

const OpInfo& op_info(OpKind kind) {
  return op_table()[size_t(kind)];
}

bool accepts_inputs(const OpInfo& info, size_t count) {
  size_t fixed = info.inputs.size() - (info.optional ? 1 : 0);
  return info.variadic ? count >= fixed : count == fixed;
}

bool takes_half(const OpInfo& info, size_t index) {
  if (info.half_operands == 0) return false;
  bool is_last = info.variadic && index + 1 >= info.inputs.size();
  return is_last || index < size_t(info.half_operands);
}

std::string input_name(const OpInfo& info, size_t index) {
  size_t last = info.inputs.size() - 1;
  if (!info.variadic || index < last) return std::string(info.inputs.at(index));
  return fmt::format("{}{}", info.inputs[last], index - last);
}

const OpInfo* find_op(std::string_view name) {
  static const std::unordered_map<std::string_view, const OpInfo*> index = [] {
    std::unordered_map<std::string_view, const OpInfo*> map;
    for (const OpInfo& info : op_table()) map.emplace(info.name, &info);
    return map;
  }();
  auto at = index.find(name);
  return at == index.end() ? nullptr : at->second;
}

}  // namespace pounce
