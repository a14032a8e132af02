// Matrix multiplication in f32 whose bits depend on nothing but the operands: packed panels, a
// register kernel for every instruction set, and a summation order fixed by the shape.
// Source of the scheme: Goto and van de Geijn 2008, "Anatomy of high-performance matrix
// multiplication".
#pragma once

#include <cstddef>
#include <cstdint>

#include "ir/conv_params.h"

namespace pounce::cpu {

// y[rows, columns] = a[rows, depth] b[depth, columns].
struct GemmShape {
  int64_t rows, columns, depth;
  // Cut a long depth into slices that are summed apart and then added in order: more parallel work
  // for weight gradients. The cut depends on all three extents, so leave it off where rows are
  // samples whose results may not depend on the batch.
  bool slice_depth = false;
};

// Element (i, k) of an operand, i along rows or columns of the product and k along its depth, is
// data[i * stride + k * depth_stride]. One of the strides is 1.
struct MatrixView {
  const float* data;
  int64_t stride;
  int64_t depth_stride;
};

// The patches under a convolution's windows as operand b: column (r * S + s) * C + c, depth
// (n * P + p) * Q + q; 0 in the padding. Needs dilation 1 and one group.
struct PatchView {
  const float* data;  // N, H, W, C
  ConvParams conv;
};

// Scratch of either gemm.
size_t gemm_workspace_bytes(const GemmShape& shape, int threads);

// What is shared by both forms: y is row-major and contiguous.
struct GemmRun {
  GemmShape shape;
  void* workspace;
  int threads;
};

void gemm(const GemmRun& run, const MatrixView& a, const MatrixView& b, float* y);
void gemm(const GemmRun& run, const MatrixView& a, const PatchView& b, float* y);

}  // namespace pounce::cpu
