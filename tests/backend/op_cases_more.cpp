// The op cases of what vision transformers and ONNX networks are made of.
#include <numeric>

#include <fmt/format.h>

#include "backend/op_cases.h"
#include "ir/conv_params.h"

namespace pounce {
namespace {

using Cases = std::vector<OpCase>;
using Ints = std::vector<int64_t>;

constexpr FillRule kUniform = FillRule::Uniform;

std::string shape_name(const Shape& shape) {
  return shape.rank() == 0 ? "scalar" : fmt::format("{}", fmt::join(shape.extents(), "x"));
}

std::string case_name(OpKind op, std::string_view suffix) {
  return fmt::format("{}_{}", op_info(op).name, suffix);
}

// With the gradient of output 0 by every input.
OpCase differentiable(OpCase op_case) {
  op_case.differentiable_outputs = {0};
  op_case.differentiable_inputs.resize(op_case.inputs.size());
  std::iota(op_case.differentiable_inputs.begin(), op_case.differentiable_inputs.end(), size_t{0});
  return op_case;
}

struct ShapePair {
  Shape a, b;
};

const ShapePair kPairs[] = {
    {{33, 17}, {33, 17}},
    {{}, {}},
    {{33, 17}, {17}},
    {{17}, {33, 17}},
    {{5, 7}, {5, 1}},
    {{}, {2, 3, 5}},
    {{2, 1, 13}, {7, 1}},
    {{3, 5, 4, 8}, {3, 1, 1, 8}},
    {{1, 2, 1, 3, 1, 5}, {3, 1, 2, 1, 4, 1}},
    {{40009}, {1}},
    {{3, 20011}, {20011}},
    {{0, 3}, {1, 3}},
};

void add_arithmetic_cases(Cases& cases) {
  for (const ShapePair& pair : kPairs) {
    std::string suffix = fmt::format("broadcast_{}_and_{}", shape_name(pair.a), shape_name(pair.b));
    CaseInput a = {pair.a, kUniform, -1, 1}, b = {pair.b, kUniform, -1, 1};
    for (OpKind op : {OpKind::Add, OpKind::Sub, OpKind::Mul}) {
      cases.push_back(differentiable({case_name(op, suffix), op, {a, b}, {}, 1e-6}));
    }
    CaseInput divisor = {pair.b, FillRule::AwayFromZero, 0.5, 2};
    cases.push_back(
        differentiable({case_name(OpKind::Div, suffix), OpKind::Div, {a, divisor}, {}, 1e-6}));
    // Multiples of different steps: nothing lies near a tie.
    CaseInput even = {pair.a, FillRule::Integers, -4, 4};
    CaseInput odd = {pair.b, FillRule::AwayFromZero, 0.2, 0.8};
    for (OpKind op : {OpKind::Max, OpKind::Min}) {
      cases.push_back(differentiable({case_name(op, suffix), op, {even, odd}, {}, 1e-6}));
    }
    CaseInput ties = {pair.b, FillRule::Integers, -4, 4};
    cases.push_back({case_name(OpKind::MaxShare, suffix), OpKind::MaxShare, {even, ties}});
  }
}

struct UnaryRow {
  OpKind op, backward;           // the op itself where its gradient needs no other
  double low, high;              // of x
  double saved_low, saved_high;  // of what the backward op reads
};

const UnaryRow kUnaryRows[] = {
    {OpKind::Neg, OpKind::Neg, -2, 2, 0, 0},
    {OpKind::Exp, OpKind::Exp, -4, 4, 0, 0},
    {OpKind::Log, OpKind::Log, 0.1, 8, 0, 0},
    {OpKind::Sqrt, OpKind::SqrtBwd, 0.1, 8, 0.3, 3},
    {OpKind::Rsqrt, OpKind::RsqrtBwd, 0.2, 8, 0.3, 3},
    {OpKind::Sigmoid, OpKind::SigmoidBwd, -6, 6, 0.1, 0.9},
    {OpKind::Tanh, OpKind::TanhBwd, -3, 3, -0.9, 0.9},
    {OpKind::Silu, OpKind::SiluBwd, -6, 6, -6, 6},
    {OpKind::Gelu, OpKind::GeluBwd, -4, 4, -4, 4},
    {OpKind::GeluTanh, OpKind::GeluTanhBwd, -4, 4, -4, 4},
    // Away from the corners at 3 and -3.
    {OpKind::HardSigmoid, OpKind::HardSigmoidBwd, -2.9, 2.9, -6, 6},
    {OpKind::HardSwish, OpKind::HardSwishBwd, -2.9, 2.9, -6, 6},
};

void add_unary_cases(Cases& cases) {
  for (const UnaryRow& row : kUnaryRows) {
    for (const Shape& shape :
         {Shape{}, Shape{1}, Shape{33, 17}, Shape{2, 3, 5, 13}, Shape{40009}}) {
      std::string suffix = shape_name(shape);
      cases.push_back(differentiable(
          {case_name(row.op, suffix), row.op, {{shape, kUniform, row.low, row.high}}}));
      if (row.backward == row.op) continue;
      cases.push_back({case_name(row.backward, suffix),
                       row.backward,
                       {{shape}, {shape, kUniform, row.saved_low, row.saved_high}}});
    }
  }
  // Beyond the corners, and where exp and erf saturate.
  for (OpKind op : {OpKind::HardSigmoid, OpKind::HardSwish, OpKind::Sigmoid, OpKind::Tanh,
                    OpKind::Silu, OpKind::Gelu, OpKind::GeluTanh}) {
    cases.push_back({case_name(op, "far"), op, {{{257}, kUniform, -120, 120}}});
  }
}

struct BatchRow {
  Ints batch;
  int64_t rows, columns, depth;
};

void add_batch_matmul_cases(Cases& cases) {
  for (const BatchRow& row : {BatchRow{{1}, 1, 1, 1},
                              {{5}, 3, 17, 33},
                              {{2, 3}, 33, 10, 8},
                              {{2, 1, 3}, 7, 5, 64},
                              {{3}, 65, 64, 1}}) {
    for (int64_t transposed : {0, 1, 2, 3}) {
      int64_t ta = transposed & 1, tb = transposed >> 1;
      Ints a = row.batch, b = row.batch;
      a.insert(a.end(), {ta ? row.depth : row.rows, ta ? row.rows : row.depth});
      b.insert(b.end(), {tb ? row.columns : row.depth, tb ? row.depth : row.columns});
      cases.push_back(differentiable(
          {case_name(OpKind::BatchMatMul,
                     fmt::format("{}x{}x{}x{}{}{}", fmt::join(row.batch, "x"), row.rows,
                                 row.columns, row.depth, ta ? "_ta" : "", tb ? "_tb" : "")),
           OpKind::BatchMatMul,
           {{Shape(a)}, {Shape(b)}},
           {{"transpose_a", ta}, {"transpose_b", tb}}}));
    }
  }
}

void add_transpose_cases(Cases& cases) {
  struct Row {
    Shape x;
    Ints permutation;
  };
  for (const Row& row :
       {Row{{}, {}}, Row{{7}, {0}}, Row{{33, 17}, {1, 0}}, Row{{2, 5, 3, 8}, {0, 2, 1, 3}},
        Row{{2, 5, 3, 8}, {0, 3, 1, 2}}, Row{{2, 1, 3, 4, 5, 6}, {5, 3, 1, 0, 4, 2}},
        Row{{3, 300, 70}, {2, 0, 1}}, Row{{2, 0, 3}, {2, 1, 0}}}) {
    cases.push_back(
        differentiable({case_name(OpKind::Transpose, fmt::format("{}_to_{}", shape_name(row.x),
                                                                 fmt::join(row.permutation, ""))),
                        OpKind::Transpose,
                        {{row.x}},
                        {{"permutation", row.permutation}},
                        1e-6}));
  }
  cases.push_back({"transpose_bytes",
                   OpKind::Transpose,
                   {{{3, 4, 5}, FillRule::Integers, 0, 256, DType::U8}},
                   {{"permutation", Ints{2, 1, 0}}}});
  cases.push_back({"transpose_counters",
                   OpKind::Transpose,
                   {{{3, 4}, FillRule::Integers, -99, 99, DType::I64}},
                   {{"permutation", Ints{1, 0}}}});
}

void add_shape_cases(Cases& cases) {
  struct Row {
    Shape x;
    Ints shape;
  };
  for (const Row& row : {Row{{33, 17}, {17, 33}}, Row{{1}, {}}, Row{{2, 3, 4}, {4, 1, 6}},
                         Row{{40008}, {3, 13336}}, Row{{0, 5}, {0}}}) {
    cases.push_back(
        differentiable({case_name(OpKind::Reshape, fmt::format("{}_to_{}", shape_name(row.x),
                                                               shape_name(Shape(row.shape)))),
                        OpKind::Reshape,
                        {{row.x}},
                        {{"shape", row.shape}},
                        1e-6}));
  }
  for (const Row& row : {Row{{}, {3, 4}}, Row{{17}, {33, 17}}, Row{{5, 1, 3}, {2, 5, 7, 3}},
                         Row{{2, 3}, {2, 3}}, Row{{1, 1}, {40009, 1}}}) {
    cases.push_back(
        differentiable({case_name(OpKind::Broadcast, fmt::format("{}_to_{}", shape_name(row.x),
                                                                 shape_name(Shape(row.shape)))),
                        OpKind::Broadcast,
                        {{row.x}},
                        {{"shape", row.shape}},
                        1e-6}));
  }
}

void add_slice_case(Cases& cases, const Shape& x, int64_t axis, int64_t start, int64_t size) {
  cases.push_back(differentiable(
      {case_name(OpKind::Slice, fmt::format("{}_axis{}_{}_{}", shape_name(x), axis, start, size)),
       OpKind::Slice,
       {{x}},
       {{"axis", axis}, {"start", start}, {"size", size}},
       1e-6}));
}

void add_pad_case(Cases& cases, const Shape& x, int64_t axis, int64_t before, int64_t after) {
  cases.push_back(differentiable(
      {case_name(OpKind::Pad, fmt::format("{}_axis{}_{}_{}", shape_name(x), axis, before, after)),
       OpKind::Pad,
       {{x}},
       {{"axis", axis}, {"before", before}, {"after", after}},
       1e-6}));
}

void add_concat_case(Cases& cases, const char* suffix, const std::vector<Shape>& shapes,
                     int64_t axis) {
  OpCase op_case = {case_name(OpKind::Concat, suffix), OpKind::Concat, {}, {{"axis", axis}}, 1e-6};
  for (const Shape& shape : shapes) op_case.inputs.push_back({shape});
  cases.push_back(differentiable(op_case));
}

void add_piece_cases(Cases& cases) {
  add_slice_case(cases, {7}, 0, 2, 3);
  add_slice_case(cases, {33, 17}, 1, 0, 1);
  add_slice_case(cases, {2, 5, 3, 8}, 1, 4, 1);
  add_slice_case(cases, {2, 5, 3}, 1, 0, 5);
  add_slice_case(cases, {2, 5, 3}, 1, 5, 0);
  add_slice_case(cases, {300, 129}, 1, 64, 65);
  add_pad_case(cases, {7}, 0, 2, 3);
  add_pad_case(cases, {33, 17}, 1, 1, 0);
  add_pad_case(cases, {2, 5, 3, 8}, 2, 0, 2);
  add_pad_case(cases, {2, 3}, 0, 0, 0);
  add_pad_case(cases, {2, 0, 3}, 1, 1, 1);
  add_concat_case(cases, "one", {{3, 4}}, 0);
  add_concat_case(cases, "rows", {{3, 5}, {1, 5}, {7, 5}}, 0);
  add_concat_case(cases, "class_token", {{2, 1, 13}, {2, 9, 13}}, 1);
  add_concat_case(cases, "channels", {{2, 3, 4, 5}, {2, 3, 4, 1}, {2, 3, 4, 0}, {2, 3, 4, 8}}, 3);
  add_concat_case(cases, "large", {{300, 64}, {300, 65}}, 1);
}

void add_reduce_cases(Cases& cases) {
  struct Row {
    Shape x;
    Ints axes;
  };
  for (const Row& row :
       {Row{{}, {}}, Row{{7}, {0}}, Row{{33, 17}, {1}}, Row{{33, 17}, {0}}, Row{{33, 17}, {}},
        Row{{3, 5, 4, 8}, {1, 2}}, Row{{3, 5, 4, 8}, {0, 2}}, Row{{2, 3, 2, 3, 2, 3}, {1, 3, 5}},
        Row{{2, 1, 129}, {0, 1, 2}}, Row{{3, 301, 70}, {1}}, Row{{40009}, {0}}}) {
    for (OpKind op : {OpKind::ReduceSum, OpKind::ReduceMean, OpKind::ReduceMax}) {
      for (int64_t keep : {0, 1}) {
        FillRule rule = op == OpKind::ReduceMax ? FillRule::Distinct : kUniform;
        std::string suffix = fmt::format("{}_over_{}{}", shape_name(row.x), fmt::join(row.axes, ""),
                                         keep ? "_kept" : "");
        // Distinct numbers lie further apart than the step of the finite differences.
        double span = op == OpKind::ReduceMax ? 1e-3 * double(row.x.elements()) : 1;
        cases.push_back(differentiable({case_name(op, suffix),
                                        op,
                                        {{row.x, rule, -span, span}},
                                        {{"axes", row.axes}, {"keep_dims", keep}}}));
      }
    }
  }
  cases.push_back({"reduce_sum_of_nothing", OpKind::ReduceSum, {{{3, 0, 2}}}, {{"axes", Ints{1}}}});
  // Few different numbers, so that maxima tie; y may hold none of them.
  CaseInput x = {{3, 5, 4}, FillRule::Integers, -2, 2};
  cases.push_back({"reduce_max_bwd_ties",
                   OpKind::ReduceMaxBwd,
                   {{{3, 4}}, x, {{3, 4}, FillRule::Integers, 0, 3}},
                   {{"axes", Ints{1}}}});
}

void add_row_cases(Cases& cases) {
  for (const Shape& shape :
       {Shape{1, 1}, Shape{7}, Shape{33, 17}, Shape{2, 3, 5, 64}, Shape{3, 1000}, Shape{300, 70}}) {
    std::string suffix = shape_name(shape);
    CaseInput x = {shape, kUniform, -5, 5};
    for (OpKind op : {OpKind::Softmax, OpKind::LogSoftmax}) {
      cases.push_back(differentiable({case_name(op, suffix), op, {x}}));
    }
    CaseInput probabilities = {shape, kUniform, 0, 1}, logarithms = {shape, kUniform, -3, 0};
    cases.push_back(
        {case_name(OpKind::SoftmaxBwd, suffix), OpKind::SoftmaxBwd, {{shape}, probabilities}});
    cases.push_back(
        {case_name(OpKind::LogSoftmaxBwd, suffix), OpKind::LogSoftmaxBwd, {{shape}, logarithms}});
    Shape channels = {shape[shape.rank() - 1]};
    Shape rows(shape.extents().first(size_t(shape.rank() - 1)));
    CaseInput gamma = {channels, kUniform, 0.5, 2};
    cases.push_back(differentiable({case_name(OpKind::LayerNorm, suffix),
                                    OpKind::LayerNorm,
                                    {{shape, kUniform, 2, 4}, gamma, {channels}},
                                    {{"eps", 1e-3}}}));
    cases.push_back({case_name(OpKind::LayerNormBwd, suffix),
                     OpKind::LayerNormBwd,
                     {{shape},
                      {shape, kUniform, 2, 4},
                      gamma,
                      {rows, kUniform, 2.9, 3.1},
                      {rows, kUniform, 0.5, 2}}});
  }
  cases.push_back({"softmax_huge", OpKind::Softmax, {{{3, 5}, kUniform, -1e4, 1e4}}});
  cases.push_back({"log_softmax_huge", OpKind::LogSoftmax, {{{3, 5}, kUniform, -1e4, 1e4}}});
}

struct PoolRow {
  const char* suffix;
  Shape x;
  Ints kernel, stride, padding;
};

const PoolRow kPoolRows[] = {
    {"2x2", {2, 6, 8, 8}, {2, 2}, {2, 2}, {0, 0}},
    {"3x3_stem", {3, 9, 8, 16}, {3, 3}, {2, 2}, {1, 1}},
    {"3x3_overlap", {2, 5, 5, 3}, {3, 3}, {1, 1}, {1, 1}},
    {"2x3_gaps", {2, 6, 9, 5}, {2, 3}, {3, 4}, {1, 0}},
    {"image1", {33, 1, 1, 17}, {3, 3}, {2, 2}, {1, 1}},
    {"channels", {2, 7, 7, 129}, {7, 7}, {7, 7}, {0, 0}},
    {"large", {1, 40, 40, 1}, {17, 20}, {5, 7}, {8, 10}},
};

void add_avg_pool_cases(Cases& cases) {
  for (const PoolRow& row : kPoolRows) {
    for (int64_t include : {0, 1}) {
      std::string suffix = fmt::format("{}{}", row.suffix, include ? "" : "_without_pad");
      Attributes window = {{"kernel", row.kernel},
                           {"stride", row.stride},
                           {"padding", row.padding},
                           {"count_include_pad", include}};
      cases.push_back(
          differentiable({case_name(OpKind::AvgPool, suffix), OpKind::AvgPool, {{row.x}}, window}));
      Shape y = {row.x[0], window_count(row.x[1], row.kernel[0], row.stride[0], row.padding[0], 1),
                 window_count(row.x[2], row.kernel[1], row.stride[1], row.padding[1], 1), row.x[3]};
      window.set("height", row.x[1]);
      window.set("width", row.x[2]);
      cases.push_back({case_name(OpKind::AvgPoolBwd, suffix), OpKind::AvgPoolBwd, {{y}}, window});
    }
  }
}

}  // namespace

std::vector<OpCase> more_op_cases() {
  Cases cases;
  add_arithmetic_cases(cases);
  add_unary_cases(cases);
  add_batch_matmul_cases(cases);
  add_transpose_cases(cases);
  add_shape_cases(cases);
  add_piece_cases(cases);
  add_reduce_cases(cases);
  add_row_cases(cases);
  add_avg_pool_cases(cases);
  return cases;
}

}  // namespace pounce
