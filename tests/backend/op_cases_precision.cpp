// Cases of what mixed precision is made of: casts, the loss scale, and nodes that make a half.
#include <fmt/format.h>

#include "backend/op_cases.h"

namespace pounce {
namespace {

using Cases = std::vector<OpCase>;

CaseInput integers(Shape shape, double low, double high, DType dtype) {
  return {shape, FillRule::Integers, low, high, dtype};
}

CaseInput scalar(double value) {
  return {{}, FillRule::Uniform, value, value, DType::F32};
}

CaseInput stop_flag(bool set) {
  return integers({2}, set ? 3 : 0, set ? 4 : 1, DType::I64);
}

std::vector<int64_t> extents(const Shape& shape) {
  return {shape.extents().begin(), shape.extents().end()};
}

std::string case_name(OpKind op, std::string_view suffix) {
  return fmt::format("{}_{}", op_info(op).name, suffix);
}

std::string shape_name(const Shape& shape) {
  return shape.rank() == 0 ? "scalar" : fmt::format("{}", fmt::join(shape.extents(), "x"));
}

CaseInput scale_counts(double good, double skipped) {
  return integers({3}, good, good + skipped + 1, DType::I64);
}

// What becomes of the scale after a good update, an overflow and a stop, in range and at its ends.
void add_loss_scale_cases(Cases& cases) {
  struct Row {
    const char* suffix;
    double scale;
    int64_t interval;
    bool overflow, stopped;
  };
  for (const Row& row : {Row{"good", 1024, 2000, false, false},
                         {"grows", 1024, 1, false, false},
                         {"at_most", 0x1p24, 1, false, false},
                         {"halved", 1024, 2000, true, false},
                         {"at_least", 0x1p-5, 2000, true, false},
                         {"stopped", 1024, 1, true, true}}) {
    cases.push_back(
        {case_name(OpKind::LossScale, row.suffix),
         OpKind::LossScale,
         {scalar(row.scale), scale_counts(5, 3), stop_flag(row.overflow), stop_flag(row.stopped)},
         {{"growth_interval", row.interval}}});
  }
}

}  // namespace

std::vector<OpCase> precision_op_cases() {
  Cases cases;
  for (const Shape& shape : {Shape{}, Shape{33, 17}, Shape{40009}}) {
    cases.push_back({case_name(OpKind::Cast, "f32_" + shape_name(shape)),
                     OpKind::Cast,
                     {{shape}},
                     {{"dtype", std::string("f32")}}});
    for (bool set : {false, true}) {
      cases.push_back(
          {case_name(OpKind::Select, fmt::format("{}{}", shape_name(shape), set ? "_set" : "")),
           OpKind::Select,
           {stop_flag(set), {shape}, {shape}}});
    }
  }
  cases.push_back({"cast_f64_33x17",
                   OpKind::Cast,
                   {{{33, 17}}},
                   {{"dtype", std::string("f64")}},
                   1e-6,
                   {0},
                   {0}});
  for (const Shape& shape : {Shape{}, Shape{33, 17}, Shape{40009}, Shape{0}}) {
    cases.push_back({case_name(OpKind::LargestMagnitude, shape_name(shape)),
                     OpKind::LargestMagnitude,
                     {{shape, FillRule::Uniform, -3, 2}}});
  }
  add_loss_scale_cases(cases);
  return cases;
}

std::span<const OpCase> narrowing_cases() {
  static const Cases cases = [] {
    Cases made;
    for (const char* dtype : {"f16", "bf16"}) {
      for (const Shape& shape : {Shape{}, Shape{33, 17}, Shape{40009}}) {
        std::string suffix = fmt::format("{}_{}", dtype, shape_name(shape));
        const Attributes to = {{"dtype", std::string(dtype)}};
        // Beyond the largest half, and among its subnormals.
        made.push_back({case_name(OpKind::Cast, suffix), OpKind::Cast, {{shape}}, to});
        made.push_back({case_name(OpKind::Cast, suffix + "_large"),
                        OpKind::Cast,
                        {{shape, FillRule::Uniform, -1e5, 1e5}},
                        to});
        made.push_back({case_name(OpKind::Cast, suffix + "_small"),
                        OpKind::Cast,
                        {{shape, FillRule::Uniform, -1e-5, 1e-5}},
                        to});
        made.push_back(
            {case_name(OpKind::Fill, suffix),
             OpKind::Fill,
             {},
             {{"dtype", std::string(dtype)}, {"shape", extents(shape)}, {"value", 0.1}}});
      }
      made.push_back({case_name(OpKind::NormalizeImage, dtype),
                      OpKind::NormalizeImage,
                      {integers({2, 5, 3, 3}, 0, 256, DType::U8)},
                      {{"mean", std::vector<double>{0.5, 0.4, 0.3}},
                       {"std", std::vector<double>{0.2, 0.3, 0.25}},
                       {"dtype", std::string(dtype)}}});
      for (int64_t transposed : {0, 1}) {
        made.push_back({case_name(OpKind::MatMul, fmt::format("wide_{}_{}", dtype, transposed)),
                        OpKind::MatMul,
                        {{transposed != 0 ? Shape{31, 33} : Shape{33, 31}, FillRule::Uniform, -1, 1,
                          parse_dtype(dtype)},
                         {{31, 17}, FillRule::Uniform, -1, 1, parse_dtype(dtype)}},
                        {{"transpose_a", transposed}, {"wide_output", int64_t{1}}}});
      }
    }
    return made;
  }();
  return cases;
}

}  // namespace pounce
