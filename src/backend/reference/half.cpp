// Every kernel for f16 and bf16 by one wrapper: what is half is widened to f32, the f32 kernel
// runs, and results that are half are rounded to the nearest, ties to even.
#include "base/half.h"

#include <algorithm>

#include "backend/reference/families.h"
#include "backend/reference/kernels.h"
#include "base/error.h"

namespace pounce::reference {
namespace {

constexpr size_t kAlignment = 64;

size_t aligned(size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

TensorType widened(const TensorType& type) {
  return {is_half(type.dtype) ? DType::F32 : type.dtype, type.shape};
}

// The same node with f32 in the place of every half.
class WideNode {
 public:
  explicit WideNode(const NodeContext& context) : target_(context.target) {
    std::vector<Value> inputs;
    for (size_t i = 0; i < context.node.inputs.size(); ++i) {
      inputs.push_back(graph_.add_input(fmt::format("{}", i), widened(context.input(i))));
    }
    Attributes attributes = context.node.attributes;
    const AttributeValue* dtype = attributes.find("dtype");
    if (dtype != nullptr && is_half(*parse_dtype(attributes.text("dtype")))) {
      attributes.set("dtype", std::string("f32"));
    }
    graph_.add(context.node.op, inputs, attributes, context.node.name);
  }

  NodeContext context() const { return {graph_, graph_.nodes().back(), target_}; }
  const Implementation& implementation() const {
    std::span<const Implementation> known = reference_implementations(context().node.op);
    POUNCE_ASSERT(!known.empty());
    return known[0];
  }
  size_t workspace_bytes() const {
    auto* bytes = implementation().workspace_bytes;
    return bytes == nullptr ? 0 : aligned(bytes(context()));
  }

 private:
  Graph graph_;
  const Target& target_;
};

// An operand that is half, and where its wide form lies in the workspace.
struct HalfOperand {
  size_t index;  // of the inputs or outputs
  DType dtype;
  int64_t elements;
  size_t offset;
};

// The workspace: that of the wide kernel, then the wide forms of inputs and outputs.
struct Layout {
  explicit Layout(const NodeContext& context, size_t kernel_bytes) : bytes(kernel_bytes) {
    for (size_t i = 0; i < context.node.inputs.size(); ++i) place(inputs, i, context.input(i));
    for (size_t i = 0; i < context.node.outputs.size(); ++i) place(outputs, i, context.output(i));
  }

  void place(std::vector<HalfOperand>& operands, size_t index, const TensorType& type) {
    if (!is_half(type.dtype)) return;
    operands.push_back({index, type.dtype, type.shape.elements(), bytes});
    bytes += aligned(size_t(widened(type).bytes()));
  }

  std::vector<HalfOperand> inputs, outputs;
  size_t bytes;
};

void widen(const HalfOperand& operand, const void* from, void* to) {
  auto* halves = static_cast<const uint16_t*>(from);
  std::transform(halves, halves + operand.elements, static_cast<float*>(to),
                 operand.dtype == DType::F16 ? float_from_half : float_from_bfloat16);
}

void narrow(const HalfOperand& operand, const void* from, void* to) {
  auto* floats = static_cast<const float*>(from);
  std::transform(floats, floats + operand.elements, static_cast<uint16_t*>(to),
                 operand.dtype == DType::F16 ? half_from_float : bfloat16_from_float);
}

HostKernel make_half(const NodeContext& context) {
  WideNode wide(context);
  Layout layout(context, wide.workspace_bytes());
  // The operands' addresses as the wide kernel sees them, filled in anew at every run.
  struct Operands {
    std::vector<const void*> inputs;
    std::vector<void*> outputs;
  };
  return [layout, kernel = wide.implementation().make(wide.context()),
          operands = Operands()](const KernelArguments& arguments) mutable {
    char* workspace = static_cast<char*>(arguments.workspace);
    operands.inputs.assign(arguments.inputs.begin(), arguments.inputs.end());
    operands.outputs.assign(arguments.outputs.begin(), arguments.outputs.end());
    for (const HalfOperand& half : layout.inputs) {
      void* floats = workspace + half.offset;
      widen(half, arguments.inputs[half.index], floats);
      operands.inputs[half.index] = floats;
    }
    for (const HalfOperand& half : layout.outputs) {
      operands.outputs[half.index] = workspace + half.offset;
    }
    kernel(
        {operands.inputs, operands.outputs, workspace, arguments.threads, arguments.communicator});
    for (const HalfOperand& half : layout.outputs) {
      narrow(half, operands.outputs[half.index], arguments.outputs[half.index]);
    }
  };
}

size_t half_workspace_bytes(const NodeContext& context) {
  return Layout(context, WideNode(context).workspace_bytes()).bytes;
}

}  // namespace

Implementation half_implementation() {
  return {.name = "reference_half", .workspace_bytes = half_workspace_bytes, .make = make_half};
}

}  // namespace pounce::reference
