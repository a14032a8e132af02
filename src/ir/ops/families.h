// The rows of the op table, one file per family, and what their shape rules share.
#pragma once

#include <vector>

#include "base/error.h"
#include "ir/graph.h"
#include "ir/op.h"

namespace pounce {

std::vector<OpInfo> control_ops();
std::vector<OpInfo> image_ops();
std::vector<OpInfo> elementwise_ops();
std::vector<OpInfo> linear_ops();
std::vector<OpInfo> layout_ops();
std::vector<OpInfo> reduce_ops();
std::vector<OpInfo> conv_ops();
std::vector<OpInfo> norm_ops();
std::vector<OpInfo> pool_ops();
std::vector<OpInfo> loss_ops();
std::vector<OpInfo> optimizer_ops();
std::vector<OpInfo> fused_ops();

// Each throws InvalidArgument naming the input and what it has and needs.
void expect_rank(const TensorType& type, const char* what, int rank);
void expect_dtype(const TensorType& type, const char* what, DType dtype);
void expect_floating(const TensorType& type, const char* what);
// f32 or f64.
void expect_wide(const TensorType& type, const char* what);
void expect_type(const TensorType& type, const char* what, const TensorType& expected);
// A vector with one element for each channel of `of`, whose last axis counts channels; of its type,
// or f32 beside a half.
void expect_channels(const TensorType& type, const char* what, const TensorType& of);

// The type that many terms of type `dtype` are added up in and come out in: f32 for a half.
inline DType wide(DType dtype) {
  return is_half(dtype) ? DType::F32 : dtype;
}

inline const TensorType kScalarF32{DType::F32, {}};
inline const TensorType kScalarI64{DType::I64, {}};
// {tag + 1 of the first tensor found non-finite or 0, flat index of the element}
inline const TensorType kStopFlag{DType::I64, {2}};

}  // namespace pounce
