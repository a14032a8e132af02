#include "backend/cpu/gemm.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/parallel.h"
#include "backend/cpu/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/linear.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace pounce::cpu {
namespace HWY_NAMESPACE {
namespace {

void add_bias(const float* x, const float* bias, float* y, int64_t rows, int64_t channels) {
  for (int64_t row = 0; row < rows; ++row) {
    POUNCE_VECTORIZE
    for (int64_t c = 0; c < channels; ++c) y[c] = x[c] + bias[c];
    x += channels, y += channels;
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace pounce::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pounce::cpu {
namespace {

HWY_EXPORT(add_bias);

HostKernel make_bias_add(const NodeContext& context) {
  int64_t channels = channels_of(context.input(0));
  int64_t rows = channels == 0 ? 0 : context.input(0).shape.elements() / channels;
  return [=](const KernelArguments& arguments) {
    int64_t grain = std::max<int64_t>(kElementwiseGrain / std::max<int64_t>(channels, 1), 1);
    parallel_pieces(arguments.threads, rows, grain, [&](int64_t first, int64_t end) {
      HWY_DYNAMIC_DISPATCH(add_bias)
      (arguments.input<float>(0) + first * channels, arguments.input<float>(1),
       arguments.output<float>(0) + first * channels, end - first, channels);
    });
  };
}

struct MatMul {
  explicit MatMul(const NodeContext& context)
      : transpose_a(context.node.attributes.integer("transpose_a") != 0),
        transpose_b(context.node.attributes.integer("transpose_b") != 0) {
    shape.rows = context.output(0).shape[0];
    shape.columns = context.output(0).shape[1];
    shape.depth = context.input(0).shape[transpose_a ? 0 : 1];
    // A transposed a is a weight gradient: its depth counts samples, its rows do not.
    shape.slice_depth = transpose_a;
  }

  MatrixView a(const float* data) const {
    if (transpose_a) return {data, 1, shape.rows};
    return {data, shape.depth, 1};
  }
  MatrixView b(const float* data) const {
    if (transpose_b) return {data, shape.depth, 1};
    return {data, 1, shape.columns};
  }

  bool transpose_a, transpose_b;
  GemmShape shape;
};

std::optional<std::string> refuse_matmul(const NodeContext& context) {
  const GemmShape shape = MatMul(context).shape;
  if (shape.rows == 0 || shape.columns == 0 || shape.depth == 0) return "a matrix is empty";
  return refuse_other_floats(context);
}

size_t matmul_workspace(const NodeContext& context) {
  return gemm_workspace_bytes(MatMul(context).shape, context.target.threads);
}

HostKernel make_matmul(const NodeContext& context) {
  MatMul matmul(context);
  int threads = context.target.threads;
  return [=](const KernelArguments& arguments) {
    gemm({matmul.shape, arguments.workspace, threads}, matmul.a(arguments.input<float>(0)),
         matmul.b(arguments.input<float>(1)), arguments.output<float>(0));
  };
}

}  // namespace

std::vector<Row> linear_kernels() {
  return {
      {OpKind::MatMul,
       {.name = "packed_gemm",
        .refuse = refuse_matmul,
        .workspace_bytes = matmul_workspace,
        .make = make_matmul}},
      {OpKind::BiasAdd, {.name = "simd", .refuse = refuse_other_floats, .make = make_bias_add}},
  };
}

}  // namespace pounce::cpu
#endif  // HWY_ONCE
