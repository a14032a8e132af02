// --precision: from the word to the type that products and activations are computed in, what a
// device can of it, and what becomes of a number that does not fit.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/backend.h"
#include "pounce/train.h"

namespace pounce {

// "fp32", "bf16", "fp16"; of F32, BF16 and F16.
std::string_view precision_name(DType dtype);

// Why the backend's device cannot compute in `dtype`; nothing when it can. Asks supports(), so
// nothing is touched.
std::optional<std::string> precision_refusal(const Backend& backend, DType dtype);

// F32, BF16 or F16. Auto takes what the device's Target names. Throws Device, saying what can,
// where the one that is asked for cannot be had.
DType choose_precision(Precision asked, const Backend& backend);

// Of a GPU: why --precision auto computes in fp32 there, and which halves can be asked for by name.
// Nothing when auto takes a half, and for processors, which are built for fp32.
std::optional<std::string> automatic_fp32_reason(const Backend& backend);

// What an update that overflowed in `dtype` is repeated in: of bf16 and fp32, the first the device
// has that is wider. Nothing after fp32.
std::optional<DType> wider_precision(DType dtype, const Backend& backend);

// The largest magnitude that a node of a layer computed.
struct LayerRange {
  std::string layer;  // "forward layer1.0.conv1 (conv2d)"
  float largest = 0;  // infinite or NaN: overflowed
};

// In the order of the network: forward, then backward.
struct OverflowReport {
  DType precision = DType::F16;
  std::vector<LayerRange> ranges;

  // The first that overflowed.
  std::optional<size_t> first() const;
  // One sentence: which, its operands' ranges, and the largest number there is.
  std::string summary() const;
};

}  // namespace pounce
