// Cases of the ops that hold a program of elementwise ops.
#include <fmt/format.h>

#include "backend/op_cases.h"

namespace pounce {
namespace {

using Cases = std::vector<OpCase>;
using Pair = std::vector<int64_t>;

Attributes program(const char* text, Attributes more = {}) {
  more.set("program", std::string(text));
  return more;
}

struct WholeRow {
  const char* suffix;
  const char* text;
  std::vector<Shape> inputs;
};

// Sizes below, at and beyond a tile of the cpu backend; programs that need none, one and several
// values at hand.
const WholeRow kWholeRows[] = {
    {"scalar", "add(0,1); relu(2)", {{}, {}}},
    {"one_input", "mul(0,0); neg(1)", {{33, 17}}},
    {"one_step", "sub(1,0)", {{5, 3}, {5, 3}}},
    {"add_relu", "add(0,1); relu(2)", {{2, 3, 5, 13}, {2, 3, 5, 13}}},
    {"add_relu_2048", "add(0,1); relu(2)", {{2048}, {2048}}},
    {"add_relu_long", "add(0,1); relu(2)", {{40009}, {40009}}},
    {"add_relu_bwd", "add(0,1); relu_bwd(3,2)", {{33, 17}, {33, 17}, {33, 17}}},
    {"reads_back", "tanh(0); mul(0,2); sub(3,1); add(4,2)", {{50021}, {50021}}},
    {"tree", "mul(0,1); mul(2,3); add(4,5); sub(6,0)", {{7, 11}, {7, 11}, {7, 11}, {7, 11}}},
    {"channels", "mul(0,1); add(3,2); relu(4)", {{2, 3, 5, 13}, {13}, {}}},
    {"channels_first", "sub(1,0); add(2,2)", {{17}, {500, 17}}},
    {"rows", "mul(0,1); add(2,0)", {{300, 17}, {300, 1}}},
    {"both_repeat", "add(0,1); mul(2,2); sub(3,0)", {{40, 1, 7}, {9, 1}}},
    {"gelu", "add(0,1); gelu(2); mul(3,0)", {{3, 700}, {700}}},
    {"eight_operands",
     "add(0,1); add(8,2); add(9,3); add(10,4); add(11,5); add(12,6); add(13,7)",
     {{9}, {9}, {9}, {9}, {1}, {9}, {9}, {9}}},
    {"sixteen_steps",
     "neg(0); tanh(1); neg(2); tanh(3); neg(4); tanh(5); neg(6); tanh(7); neg(8); tanh(9); "
     "neg(10); tanh(11); neg(12); tanh(13); neg(14); mul(15,0)",
     {{2501}}},
};

void add_whole_cases(Cases& cases) {
  for (const WholeRow& row : kWholeRows) {
    OpCase made{fmt::format("fused_{}", row.suffix), OpKind::Fused, {}, program(row.text), 1e-6};
    for (const Shape& shape : row.inputs) made.inputs.push_back({shape});
    cases.push_back(std::move(made));
  }
}

void add_linear_cases(Cases& cases) {
  const Attributes window = {{"stride", Pair{1, 1}}, {"padding", Pair{1, 1}}};
  const Shape x = {2, 7, 6, 5}, weights = {16, 3, 3, 5}, y = {2, 7, 6, 16};
  auto conv = [&](const char* suffix, const char* text, std::vector<CaseInput> operands) {
    std::vector<CaseInput> inputs = {{x}, {weights}};
    inputs.insert(inputs.end(), operands.begin(), operands.end());
    cases.push_back({fmt::format("conv2d_fused_{}", suffix), OpKind::Conv2dFused, inputs,
                     program(text, window)});
  };
  conv("relu", "relu(0)", {});
  conv("bias_relu", "add(0,1); relu(2)", {{{16}}});
  conv("bias_residual", "add(0,1); add(3,2); relu(4)", {{{16}}, {y}});
  const Attributes transposed = {{"transpose_b", int64_t{1}}};
  for (int64_t rows : {1, 3, 129}) {
    cases.push_back({fmt::format("matmul_fused_bias_{}", rows),
                     OpKind::MatMulFused,
                     {{{rows, 64}}, {{33, 64}}, {{33}}},
                     program("add(0,1)", transposed)});
  }
  cases.push_back({"matmul_fused_gelu",
                   OpKind::MatMulFused,
                   {{{33, 10}}, {{10, 40}}, {{40}}, {{33, 40}}},
                   program("add(0,1); gelu(3); add(4,2)")});
}

void add_norm_cases(Cases& cases) {
  // Fewer and more channels than a tile has elements, rows that fill several tiles.
  for (const Shape& shape : {Shape{2, 3, 3, 5}, Shape{33, 17}, Shape{3, 5, 4, 8},
                             Shape{5, 31, 9, 64}, Shape{3, 2100}, Shape{64, 300}}) {
    Shape channels = {shape[shape.rank() - 1]};
    std::string suffix = fmt::format("{}", fmt::join(shape.extents(), "x"));
    CaseInput x = {shape, FillRule::Uniform, 2, 4};
    CaseInput variance = {channels, FillRule::Uniform, 0.5, 2.0}, scale = variance;
    std::vector<CaseInput> forward = {x, scale, {channels}, {channels}, variance};
    std::vector<CaseInput> residual = forward, scaled = forward;
    residual.push_back({shape});
    scaled.push_back({channels});
    auto add = [&](OpKind op, const char* what, std::vector<CaseInput> inputs, const char* text) {
      cases.push_back({fmt::format("{}_{}_{}", op_info(op).name, what, suffix), op,
                       std::move(inputs), program(text)});
    };
    for (OpKind op : {OpKind::BatchNormFused, OpKind::BatchNormInferenceFused}) {
      add(op, "relu", forward, "relu(0)");
      add(op, "residual", residual, "add(0,1); relu(2)");
      add(op, "reads_back", residual, "sigmoid(0); mul(0,2); sub(3,1)");
      add(op, "scaled", scaled, "mul(0,1); relu(2)");
    }
  }
}

}  // namespace

std::vector<OpCase> fused_op_cases() {
  Cases cases;
  add_whole_cases(cases);
  add_linear_cases(cases);
  add_norm_cases(cases);
  return cases;
}

}  // namespace pounce
