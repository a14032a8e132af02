#include "backend/op_cases.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "base/checksum.h"
#include "base/random.h"
#include "ir/conv_params.h"

namespace pounce {
namespace {

using Cases = std::vector<OpCase>;

CaseInput integers(Shape shape, double low, double high, DType dtype) {
  return {shape, FillRule::Integers, low, high, dtype};
}

CaseInput scalar(double value) {
  return {{}, FillRule::Uniform, value, value, DType::F32};
}

CaseInput counter(double value) {
  return integers({}, value, value + 1, DType::I64);
}

CaseInput stop_flag(bool set) {
  return integers({2}, set ? 3 : 0, set ? 4 : 1, DType::I64);
}

CaseInput positive(Shape shape) {
  return {shape, FillRule::Uniform, 0.5, 2.0};
}

std::string shape_name(const Shape& shape) {
  return shape.rank() == 0 ? "scalar" : fmt::format("{}", fmt::join(shape.extents(), "x"));
}

// "conv2d_<suffix>"
std::string case_name(OpKind op, std::string_view suffix) {
  return fmt::format("{}_{}", op_info(op).name, suffix);
}

void add_control_cases(Cases& cases) {
  auto fill = [&](const char* dtype, std::vector<int64_t> shape, double value) {
    cases.push_back({case_name(OpKind::Fill, fmt::format("{}_{}", dtype, shape_name(Shape(shape)))),
                     OpKind::Fill,
                     {},
                     {{"dtype", std::string(dtype)}, {"shape", shape}, {"value", value}}});
  };
  fill("f32", {3, 5, 17}, -1.5);
  fill("f32", {}, 0.25);
  fill("f64", {33}, 1e300);
  fill("i64", {2}, 7);
  fill("i32", {5}, -3);
  fill("u8", {13}, 255);
  cases.push_back({"copy_float", OpKind::Copy, {{{33, 17}}}, {}, 1e-6, {0}, {0}});
  cases.push_back({"copy_bytes", OpKind::Copy, {integers({2, 5, 3}, 0, 256, DType::U8)}});
  cases.push_back({"increment", OpKind::Increment, {counter(41), stop_flag(false)}});
  cases.push_back({"increment_stopped", OpKind::Increment, {counter(41), stop_flag(true)}});
  cases.push_back({"lookup_first", OpKind::Lookup, {{{10}}, counter(0)}});
  cases.push_back({"lookup_inside", OpKind::Lookup, {{{10}}, counter(7)}});
  cases.push_back({"lookup_beyond", OpKind::Lookup, {{{10}}, counter(99)}});
  cases.push_back({"lookup_one_entry", OpKind::Lookup, {{{1}}, counter(3)}});
  const Attributes tag = {{"tag", int64_t{4}}};
  auto check = [&](const char* suffix, CaseInput x, bool stopped) {
    cases.push_back({case_name(OpKind::CheckFinite, suffix),
                     OpKind::CheckFinite,
                     {x, stop_flag(stopped)},
                     tag});
  };
  check("clean", {{33, 17}}, false);
  check("clean_scalar", {{}}, false);
  check("infinite", {{33, 17}, FillRule::Infinities}, false);
  check("infinite_stopped", {{33, 17}, FillRule::Infinities}, true);
  check("infinite_large", {{300, 1001}, FillRule::Infinities}, false);
  for (const Shape& shape : {Shape{}, Shape{33, 17}}) {
    cases.push_back(
        {case_name(OpKind::AllReduce, shape_name(shape)), OpKind::AllReduce, {{shape}}});
  }
}

void add_image_cases(Cases& cases) {
  for (const Shape& shape : {Shape{1, 1, 1, 3}, Shape{2, 5, 3, 3}, Shape{33, 4, 4, 1}}) {
    std::vector<double> mean = {0.5, 0.4, 0.3}, std = {0.2, 0.3, 0.25};
    mean.resize(size_t(shape[3])), std.resize(size_t(shape[3]));
    cases.push_back({case_name(OpKind::NormalizeImage, shape_name(shape)),
                     OpKind::NormalizeImage,
                     {integers(shape, 0, 256, DType::U8)},
                     {{"mean", mean}, {"std", std}}});
  }
  for (int64_t classes : {1, 2, 10, 37, 1000}) {
    for (double smoothing : {0.0, 0.1}) {
      cases.push_back(
          {case_name(OpKind::OneHot, fmt::format("{}{}", classes, smoothing > 0 ? "_smooth" : "")),
           OpKind::OneHot,
           {integers({classes == 10 ? 33 : 3}, 0, double(classes), DType::I32)},
           {{"classes", classes}, {"smoothing", smoothing}}});
    }
  }
}

void add_elementwise_cases(Cases& cases) {
  for (const Shape& shape : {Shape{}, Shape{1}, Shape{33, 17}, Shape{2, 3, 5, 13}, Shape{40009}}) {
    std::string suffix = shape_name(shape);
    for (OpKind op : {OpKind::Add, OpKind::Mul}) {
      cases.push_back({case_name(op, suffix), op, {{shape}, {shape}}, {}, 1e-6, {0}, {0, 1}});
    }
    cases.push_back({case_name(OpKind::Relu, suffix),
                     OpKind::Relu,
                     {{shape, FillRule::AwayFromZero, 0.1, 1}},
                     {},
                     1e-6,
                     {0},
                     {0}});
    cases.push_back(
        {case_name(OpKind::Relu, suffix + "_zeros"), OpKind::Relu, {{shape, FillRule::WithZeros}}});
    // b is an output of relu.
    cases.push_back({case_name(OpKind::ReluBwd, suffix),
                     OpKind::ReluBwd,
                     {{shape}, {shape, FillRule::WithZeros, 0, 1}}});
  }
}

struct MatMulRow {
  int64_t rows, columns, depth;
};

void add_linear_cases(Cases& cases) {
  for (MatMulRow row : {MatMulRow{1, 1, 1},
                        {1, 129, 5},
                        {33, 10, 64},
                        {3, 17, 129},
                        {129, 33, 1},
                        {2, 8, 16},
                        {64, 65, 63}}) {
    for (int64_t transposed : {0, 1, 2, 3}) {
      int64_t a = transposed & 1, b = transposed >> 1;
      cases.push_back(
          {case_name(OpKind::MatMul, fmt::format("{}x{}x{}{}{}", row.rows, row.columns, row.depth,
                                                 a ? "_ta" : "", b ? "_tb" : "")),
           OpKind::MatMul,
           {{a ? Shape{row.depth, row.rows} : Shape{row.rows, row.depth}},
            {b ? Shape{row.columns, row.depth} : Shape{row.depth, row.columns}}},
           {{"transpose_a", a}, {"transpose_b", b}},
           1e-5,
           {0},
           {0, 1}});
    }
  }
  for (const Shape& shape : {Shape{1, 1}, Shape{3, 8}, Shape{33, 17}}) {
    Shape bias = {shape[1]};
    cases.push_back({case_name(OpKind::BiasAdd, shape_name(shape)),
                     OpKind::BiasAdd,
                     {{shape}, {bias}},
                     {},
                     1e-6,
                     {0},
                     {0, 1}});
    cases.push_back({case_name(OpKind::BiasBwd, shape_name(shape)), OpKind::BiasBwd, {{shape}}});
  }
}

struct ConvRow {
  const char* suffix;
  int64_t batch, height, width, channels, out_channels, kernel_h, kernel_w;
  int64_t stride_h = 1, stride_w = 1, pad_h = 0, pad_w = 0, dilation = 1, groups = 1;
};

const ConvRow kConvRows[] = {
    {"1x1_single", 1, 1, 1, 1, 1, 1, 1},
    {"1x1", 1, 5, 7, 8, 16, 1, 1},
    {"1x1_wide", 3, 6, 6, 64, 33, 1, 1},
    {"1x1_stride2", 2, 7, 5, 13, 17, 1, 1, 2, 2},
    {"1x1_stride3", 2, 8, 8, 8, 8, 1, 1, 3, 3},
    {"1x1_pad1", 2, 3, 4, 5, 3, 1, 1, 1, 1, 1, 1},
    {"1x1_batch33_image1", 33, 1, 1, 16, 13, 1, 1},
    {"3x3_batch33", 33, 4, 4, 3, 5, 3, 3, 1, 1, 1, 1},
    {"3x3_pad0", 2, 6, 9, 8, 8, 3, 3},
    {"3x3_pad2", 1, 4, 4, 1, 1, 3, 3, 1, 1, 2, 2},
    {"3x3_image1", 3, 1, 1, 8, 16, 3, 3, 1, 1, 1, 1},
    {"3x3_even", 1, 14, 14, 64, 64, 3, 3, 1, 1, 1, 1},
    {"3x3_odd", 2, 7, 6, 33, 17, 3, 3, 1, 1, 1, 1},
    {"3x3_stride2", 3, 9, 8, 16, 8, 3, 3, 2, 2, 1, 1},
    {"3x3_stride3", 2, 10, 7, 5, 3, 3, 3, 3, 3},
    {"5x5", 2, 8, 9, 3, 13, 5, 5, 1, 1, 2, 2},
    {"7x7_stride2", 2, 15, 14, 3, 16, 7, 7, 2, 2, 3, 3},
    {"1x5", 2, 6, 9, 5, 3, 1, 5, 1, 2, 0, 2},
    {"3x1", 3, 7, 5, 8, 1, 3, 1, 2, 1, 1, 0},
    {"groups2", 2, 6, 6, 16, 8, 3, 3, 1, 1, 1, 1, 1, 2},
    {"depthwise", 2, 7, 7, 13, 13, 3, 3, 2, 2, 1, 1, 1, 13},
    {"depthwise_double", 2, 5, 5, 3, 6, 3, 3, 1, 1, 1, 1, 1, 3},
    {"dilation2", 2, 9, 9, 5, 8, 3, 3, 1, 1, 2, 2, 2},
    {"dilation2_groups2_stride2", 1, 11, 10, 4, 6, 3, 3, 2, 2, 1, 1, 2, 2},
};

void add_conv_cases(Cases& cases) {
  for (const ConvRow& row : kConvRows) {
    Shape x = {row.batch, row.height, row.width, row.channels};
    Shape weights = {row.out_channels, row.kernel_h, row.kernel_w, row.channels / row.groups};
    Shape y = {row.batch,
               window_count(row.height, row.kernel_h, row.stride_h, row.pad_h, row.dilation),
               window_count(row.width, row.kernel_w, row.stride_w, row.pad_w, row.dilation),
               row.out_channels};
    using Pair = std::vector<int64_t>;
    Attributes window = {{"stride", Pair{row.stride_h, row.stride_w}},
                         {"padding", Pair{row.pad_h, row.pad_w}},
                         {"dilation", Pair{row.dilation, row.dilation}},
                         {"groups", row.groups}};
    Attributes data = window;
    data.set("height", row.height);
    data.set("width", row.width);
    Attributes kernel = window;
    kernel.set("kernel", Pair{row.kernel_h, row.kernel_w});
    auto add = [&](OpKind op, const Shape& first, const Shape& second, const Attributes& all) {
      cases.push_back({case_name(op, row.suffix), op, {{first}, {second}}, all});
    };
    add(OpKind::Conv2d, x, weights, window);
    cases.back().differentiable_outputs = {0};
    cases.back().differentiable_inputs = {0, 1};
    add(OpKind::Conv2dBwdData, y, weights, data);
    add(OpKind::Conv2dBwdWeights, x, y, kernel);
  }
}

void add_norm_cases(Cases& cases) {
  for (const Shape& shape : {Shape{2, 1, 1, 3}, Shape{2, 8}, Shape{33, 17}, Shape{3, 5, 4, 8},
                             Shape{1, 7, 6, 13}, Shape{2, 3, 3, 64}, Shape{33, 2, 2, 1}}) {
    Shape channels = {shape[shape.rank() - 1]};
    std::string suffix = shape_name(shape);
    // Over two values the normalised ones hardly depend on x, except through eps.
    Attributes eps = {{"eps", shape.elements() / channels[0] == 2 ? 0.1 : 1e-5}};
    Attributes training = eps;
    training.set("momentum", 0.3);
    CaseInput x = {shape, FillRule::Uniform, 2, 4};
    cases.push_back({case_name(OpKind::BatchNorm, suffix),
                     OpKind::BatchNorm,
                     {x, positive(channels), {channels}, {channels}, positive(channels)},
                     training,
                     1e-5,
                     {0},
                     {0, 1, 2}});
    cases.push_back({case_name(OpKind::BatchNormBwd, suffix),
                     OpKind::BatchNormBwd,
                     {{shape},
                      x,
                      positive(channels),
                      {channels, FillRule::Uniform, 2.9, 3.1},
                      positive(channels)}});
    cases.push_back({case_name(OpKind::BatchNormInference, suffix),
                     OpKind::BatchNormInference,
                     {x, positive(channels), {channels}, {channels}, positive(channels)},
                     eps});
  }
}

struct PoolRow {
  const char* suffix;
  int64_t batch, height, width, channels, kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w;
};

const PoolRow kPoolRows[] = {
    {"2x2", 2, 6, 8, 8, 2, 2, 2, 2, 0, 0},         {"2x2_odd", 1, 7, 5, 13, 2, 2, 2, 2, 0, 0},
    {"3x3_stem", 3, 9, 8, 16, 3, 3, 2, 2, 1, 1},   {"3x3_overlap", 2, 5, 5, 3, 3, 3, 1, 1, 1, 1},
    {"2x3", 2, 6, 7, 5, 2, 3, 1, 2, 1, 0},         {"image1", 33, 1, 1, 17, 3, 3, 2, 2, 1, 1},
    {"1x1_stride3", 2, 7, 7, 1, 1, 1, 3, 3, 0, 0}, {"7x7", 2, 7, 7, 33, 7, 7, 7, 7, 0, 0},
};

void add_pool_cases(Cases& cases) {
  using Pair = std::vector<int64_t>;
  for (const PoolRow& row : kPoolRows) {
    Attributes window = {{"kernel", Pair{row.kernel_h, row.kernel_w}},
                         {"stride", Pair{row.stride_h, row.stride_w}},
                         {"padding", Pair{row.pad_h, row.pad_w}}};
    cases.push_back({case_name(OpKind::MaxPool, row.suffix),
                     OpKind::MaxPool,
                     {{{row.batch, row.height, row.width, row.channels}, FillRule::Distinct}},
                     window,
                     1e-6,
                     {0},
                     {0}});
    Shape y = {row.batch, window_count(row.height, row.kernel_h, row.stride_h, row.pad_h, 1),
               window_count(row.width, row.kernel_w, row.stride_w, row.pad_w, 1), row.channels};
    window.set("height", row.height);
    window.set("width", row.width);
    cases.push_back({case_name(OpKind::MaxPoolBwd, row.suffix),
                     OpKind::MaxPoolBwd,
                     {{y}, {y, FillRule::PoolPosition, 0, 0, DType::U8}},
                     window});
  }
  for (const Shape& x : {Shape{1, 1, 1, 3}, Shape{33, 3, 5, 17}, Shape{2, 7, 7, 64}}) {
    cases.push_back({case_name(OpKind::GlobalAvgPool, shape_name(x)),
                     OpKind::GlobalAvgPool,
                     {{x}},
                     {},
                     1e-5,
                     {0},
                     {0}});
    cases.push_back({case_name(OpKind::GlobalAvgPoolBwd, shape_name(x)),
                     OpKind::GlobalAvgPoolBwd,
                     {{{x[0], x[3]}}},
                     {{"height", x[1]}, {"width", x[2]}}});
  }
}

void add_loss_cases(Cases& cases) {
  for (const Shape& shape :
       {Shape{1, 2}, Shape{2, 3}, Shape{33, 10}, Shape{3, 1000}, Shape{2, 1}}) {
    std::string suffix = shape_name(shape);
    CaseInput logits = {shape, FillRule::Uniform, -5, 5};
    CaseInput targets = {shape, FillRule::Uniform, 0, 1};  // soft, and no probabilities
    CaseInput weights = {{shape[0]}, FillRule::Uniform, 0.1, 2};
    cases.push_back({case_name(OpKind::CrossEntropy, suffix),
                     OpKind::CrossEntropy,
                     {logits, targets, weights},
                     {},
                     1e-5,
                     {0},
                     {0}});
    cases.push_back({case_name(OpKind::CrossEntropyBwd, suffix),
                     OpKind::CrossEntropyBwd,
                     {{{shape[0]}}, logits, targets, weights}});
    // Few different logits, so that there are ties.
    cases.push_back({case_name(OpKind::TargetRank, suffix),
                     OpKind::TargetRank,
                     {{shape, FillRule::Integers, -4, 4},
                      integers({shape[0]}, 0, double(shape[1]), DType::I32)}});
  }
  cases.push_back({"cross_entropy_huge_logits",
                   OpKind::CrossEntropy,
                   {{{3, 5}, FillRule::Uniform, -1e4, 1e4}, positive({3, 5}), positive({3})}});
}

void add_sgd_case(Cases& cases, const char* suffix, const Shape& shape, const Attributes& more,
                  bool stopped = false) {
  cases.push_back({case_name(OpKind::Sgd, suffix),
                   OpKind::Sgd,
                   {{shape}, {shape}, {shape}, scalar(0.05), scalar(8), stop_flag(stopped)},
                   more});
}

void add_adam_case(Cases& cases, const char* suffix, const Shape& shape, const Attributes& more,
                   bool stopped = false) {
  cases.push_back({case_name(OpKind::Adam, suffix),
                   OpKind::Adam,
                   {{shape},
                    {shape},
                    {shape},
                    positive(shape),
                    scalar(0.01),
                    counter(9),
                    scalar(8),
                    stop_flag(stopped)},
                   more});
}

void add_optimizer_cases(Cases& cases) {
  const int64_t yes = 1;
  add_sgd_case(cases, "plain", {7}, {{"momentum", 0.0}});
  add_sgd_case(cases, "momentum", {33, 17}, {});
  add_sgd_case(cases, "decay", {40009}, {{"weight_decay", 0.01}});
  add_sgd_case(cases, "nesterov", {16, 3, 3, 8}, {{"weight_decay", 0.01}, {"nesterov", yes}});
  add_sgd_case(cases, "stopped", {33, 17}, {}, true);
  add_adam_case(cases, "plain", {33, 17}, {});
  add_adam_case(cases, "decay", {40009}, {{"weight_decay", 0.01}});
  add_adam_case(cases, "decoupled", {16, 3, 3, 8}, {{"weight_decay", 0.1}, {"decoupled", yes}});
  add_adam_case(cases, "constants", {1}, {{"beta1", 0.5}, {"beta2", 0.9}, {"eps", 1e-3}});
  add_adam_case(cases, "stopped", {33, 17}, {}, true);
}

void add_update_scalar_cases(Cases& cases) {
  for (const Shape& shape : {Shape{}, Shape{7}, Shape{33, 17}, Shape{40009}}) {
    std::string suffix = shape_name(shape);
    cases.push_back(
        {case_name(OpKind::SumSquares, suffix), OpKind::SumSquares, {{shape}, scalar(3)}});
    for (bool stopped : {false, true}) {
      for (int updates : {0, 20000}) {
        cases.push_back({case_name(OpKind::MovingAverage, fmt::format("{}_{}{}", suffix, updates,
                                                                      stopped ? "_stopped" : "")),
                         OpKind::MovingAverage,
                         {{shape}, {shape}, counter(updates), stop_flag(stopped)},
                         {{"decay", 0.999}}});
      }
    }
  }
  for (double max_norm : {0.1, 1.0, 100.0}) {
    cases.push_back({case_name(OpKind::ClipDivisor, fmt::format("{}", int(max_norm * 10))),
                     OpKind::ClipDivisor,
                     {scalar(8), scalar(500)},
                     {{"max_norm", max_norm}}});
  }
}

Cases make_cases() {
  Cases cases;
  add_control_cases(cases);
  add_image_cases(cases);
  add_elementwise_cases(cases);
  add_linear_cases(cases);
  add_conv_cases(cases);
  add_norm_cases(cases);
  add_pool_cases(cases);
  add_loss_cases(cases);
  add_optimizer_cases(cases);
  add_update_scalar_cases(cases);
  for (OpCase& more : more_op_cases()) cases.push_back(std::move(more));
  for (OpCase& more : precision_op_cases()) cases.push_back(std::move(more));
  for (OpCase& fused : fused_op_cases()) cases.push_back(std::move(fused));
  std::stable_sort(cases.begin(), cases.end(),
                   [](const OpCase& a, const OpCase& b) { return a.op < b.op; });
  return cases;
}

std::vector<double> distinct(const CaseInput& input, size_t elements, RandomStream& random) {
  std::vector<double> numbers(elements);
  for (size_t i = 0; i < elements; ++i) {
    numbers[i] = input.low + (input.high - input.low) * double(i) / double(elements);
  }
  for (size_t i = elements; i > 1; --i) {
    std::swap(numbers[i - 1], numbers[random.below(uint32_t(i))]);
  }
  return numbers;
}

std::vector<double> pool_positions(const OpCase& op_case, RandomStream& random) {
  Graph graph = build_case(op_case, DType::F32);
  PoolParams p = pool_params(graph, graph.nodes().back());
  // A tap of the window at `start` that lies inside the image.
  auto tap = [&](int64_t start, int64_t kernel, int64_t size) {
    int64_t first = std::max<int64_t>(0, -start), end = std::min(kernel, size - start);
    return first + int64_t(random.below(uint32_t(end - first)));
  };
  std::vector<double> numbers;
  for (int64_t i = 0; i < p.batch * p.out_height * p.out_width * p.channels; ++i) {
    int64_t out_w = i / p.channels % p.out_width;
    int64_t out_h = i / p.channels / p.out_width % p.out_height;
    int64_t r = tap(out_h * p.stride_h - p.pad_h, p.kernel_h, p.height);
    int64_t s = tap(out_w * p.stride_w - p.pad_w, p.kernel_w, p.width);
    numbers.push_back(double(r * p.kernel_w + s));
  }
  return numbers;
}

double draw(const CaseInput& input, int64_t i, RandomStream& random) {
  double uniform = random.uniform(input.low, input.high);
  switch (input.rule) {
    case FillRule::AwayFromZero:
      return random.below(2) == 0 ? uniform : -uniform;
    case FillRule::WithZeros:
      return i % 3 == 0 ? 0 : uniform;
    case FillRule::Integers:
      return input.low + double(random.below(uint32_t(input.high - input.low)));
    case FillRule::Infinities:
      if (i < input.shape.elements() / 2 || i % 3 != 0) return uniform;
      return std::numeric_limits<double>::infinity();
    default:
      return uniform;
  }
}

std::vector<double> fill(const OpCase& op_case, size_t index) {
  const CaseInput& input = op_case.inputs[index];
  RandomStream random(1, RandomPurpose::Test, uint32_t(index), xxh3_64(op_case.name));
  if (input.rule == FillRule::Distinct) {
    return distinct(input, size_t(input.shape.elements()), random);
  }
  if (input.rule == FillRule::PoolPosition) return pool_positions(op_case, random);
  std::vector<double> numbers;
  for (int64_t i = 0; i < input.shape.elements(); ++i) numbers.push_back(draw(input, i, random));
  return numbers;
}

// Built for a half, inputs that the op table does not take as halves are f32.
TensorType type_of(const OpCase& op_case, size_t index, DType floating) {
  const CaseInput& input = op_case.inputs[index];
  bool stays_wide = is_half(floating) && !takes_half(op_info(op_case.op), index);
  return {input.dtype.value_or(stays_wide ? DType::F32 : floating), input.shape};
}

}  // namespace

std::span<const OpCase> op_cases() {
  static const Cases cases = make_cases();
  return cases;
}

bool has_half_form(const OpCase& op_case) {
  for (size_t i = 0; i < op_case.inputs.size(); ++i) {
    if (!op_case.inputs[i].dtype && takes_half(op_info(op_case.op), i)) return true;
  }
  return false;
}

Graph build_case(const OpCase& op_case, DType floating, bool copy_inputs) {
  const OpInfo& info = op_info(op_case.op);
  Graph graph;
  std::vector<Value> inputs;
  for (size_t i = 0; i < op_case.inputs.size(); ++i) {
    inputs.push_back(graph.add_input(input_name(info, i), type_of(op_case, i, floating)));
  }
  if (copy_inputs) {
    for (Value& input : inputs) input = graph.add_one(OpKind::Copy, {input});
  }
  std::vector<Value> outputs =
      graph.add(op_case.op, std::move(inputs), op_case.attributes, op_case.name);
  for (size_t i = 0; i < outputs.size(); ++i) {
    graph.add_output(std::string(info.outputs[i]), outputs[i]);
  }
  return graph;
}

Tensors case_inputs(const OpCase& op_case, DType floating) {
  const OpInfo& info = op_info(op_case.op);
  Tensors tensors;
  for (size_t i = 0; i < op_case.inputs.size(); ++i) {
    tensors[input_name(info, i)] = make_tensor(type_of(op_case, i, floating), fill(op_case, i));
  }
  return tensors;
}

}  // namespace pounce
