#include "train/precision.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace pounce {
namespace {

constexpr size_t kLayersBefore = 2;  // shown in front of the one that overflowed

std::string range_text(const LayerRange& range) {
  return fmt::format("{} {:.3g}", range.layer, range.largest);
}

double largest_number(DType dtype) {
  return dtype == DType::F16 ? 65504 : 3.39e38;
}

}  // namespace

std::string_view precision_name(DType dtype) {
  POUNCE_ASSERT(dtype == DType::F32 || is_half(dtype));
  return dtype == DType::F32 ? "fp32" : dtype == DType::BF16 ? "bf16" : "fp16";
}

std::optional<std::string> precision_refusal(const Backend& backend, DType dtype) {
  Graph graph;
  Value x = graph.add_input("x", {dtype, {1, 8, 8, 8}});
  Value weights = graph.add_input("weights", {dtype, {8, 3, 3, 8}});
  graph.add_output("y", graph.add_one(OpKind::Conv2d, {x, weights}));
  return backend.supports(graph, graph.nodes().back(), backend.target());
}

DType choose_precision(Precision asked, const Backend& backend) {
  if (asked == Precision::Auto) return backend.target().automatic_precision;
  DType dtype = asked == Precision::Fp32   ? DType::F32
                : asked == Precision::Bf16 ? DType::BF16
                                           : DType::F16;
  if (dtype == DType::F32) return dtype;
  if (std::optional<std::string> reason = precision_refusal(backend, dtype)) {
    fail_with_hint(ErrorKind::Device,
                   "use --precision fp32 or auto here; half precision needs a GPU backend: "
                   "--device gpu",
                   "--precision {}: the {} backend does not compute in it ({})",
                   precision_name(dtype), backend.name(), *reason);
  }
  return dtype;
}

std::optional<std::string> automatic_fp32_reason(const Backend& backend) {
  const Target& target = backend.target();
  bool is_gpu = target.kind == DeviceKind::OpenCl || target.kind == DeviceKind::Cuda;
  if (!is_gpu || target.automatic_precision != DType::F32) return std::nullopt;
  std::vector<std::string_view> halves;
  for (DType dtype : {DType::BF16, DType::F16}) {
    if (!precision_refusal(backend, dtype)) halves.push_back(precision_name(dtype));
  }
  if (halves.empty()) {
    return fmt::format("--precision auto computes in fp32: the {} backend has no half precision",
                       backend.name());
  }
  return fmt::format(
      "--precision auto computes in fp32: the {} backend cannot tell whether the device is built "
      "for half precision; to try it: --precision {}",
      backend.name(), fmt::join(halves, " or "));
}

std::optional<DType> wider_precision(DType dtype, const Backend& backend) {
  if (dtype == DType::F32) return std::nullopt;
  bool has_bf16 = dtype == DType::F16 && !precision_refusal(backend, DType::BF16);
  return has_bf16 ? DType::BF16 : DType::F32;
}

std::optional<size_t> OverflowReport::first() const {
  auto at = std::find_if(ranges.begin(), ranges.end(),
                         [](const LayerRange& range) { return !std::isfinite(range.largest); });
  if (at == ranges.end()) return std::nullopt;
  return size_t(at - ranges.begin());
}

std::string OverflowReport::summary() const {
  std::optional<size_t> at = first();
  if (!at) {
    auto widest = std::max_element(
        ranges.begin(), ranges.end(),
        [](const LayerRange& a, const LayerRange& b) { return a.largest < b.largest; });
    if (widest == ranges.end()) return "no layer was measured";
    return fmt::format("no layer overflowed when measured again; the largest magnitude is {}",
                       range_text(*widest));
  }
  std::string text =
      fmt::format("{} overflowed in {}", precision_name(precision), ranges[*at].layer);
  size_t before = *at - std::min(*at, kLayersBefore);
  std::vector<std::string> ranges_before;
  for (size_t i = before; i < *at; ++i) ranges_before.push_back(range_text(ranges[i]));
  if (!ranges_before.empty()) {
    text += fmt::format("; largest magnitudes before it: {}", fmt::join(ranges_before, ", "));
  }
  return text + fmt::format("; the largest number is {:.6g}", largest_number(precision));
}

}  // namespace pounce
