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
    const Shape &x = context.input(0).shape, &y = context.output(0).shape;
    int rank = y.rank();
    shape.rows = y[rank - 2];
    shape.columns = y[rank - 1];
    shape.depth = x[transpose_a ? rank - 2 : rank - 1];
    for (int i = 0; i < rank - 2; ++i) products *= y[i];
    // A transposed a is a weight gradient: its depth counts samples, its rows do not.
    shape.slice_depth = transpose_a && rank == 2;
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
  int64_t products = 1;  // of as many pairs of matrices
  GemmShape shape;
};

std::optional<std::string> refuse_matmul(const NodeContext& context) {
  const MatMul matmul(context);
  const GemmShape& shape = matmul.shape;
  if (matmul.products * shape.rows * shape.columns * shape.depth == 0) return "a matrix is empty";
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

// Many products share out the threads, each on one; few take turns on all. Either way a product's
// sums have the order that its own extents give.
HostKernel make_batch_matmul(const NodeContext& context) {
  MatMul m(context);
  int threads = context.target.threads;
  size_t scratch = gemm_workspace_bytes(m.shape, 1);
  bool many = m.products >= threads;
  return [=](const KernelArguments& arguments) {
    auto product = [&](int64_t n, int team, void* workspace) {
      gemm({m.shape, workspace, team},
           m.a(arguments.input<float>(0) + n * m.shape.rows * m.shape.depth),
           m.b(arguments.input<float>(1) + n * m.shape.depth * m.shape.columns),
           arguments.output<float>(0) + n * m.shape.rows * m.shape.columns);
    };
    if (!many) {
      for (int64_t n = 0; n < m.products; ++n) product(n, threads, arguments.workspace);
      return;
    }
    parallel_for(threads, m.products, [&](int64_t n) {
      product(n, 1, static_cast<char*>(arguments.workspace) + size_t(worker_index()) * scratch);
    });
  };
}

}  // namespace

std::vector<Row> linear_kernels() {
  return {
      {OpKind::BatchMatMul,
       {.name = "packed_gemm",
        .refuse = refuse_matmul,
        .workspace_bytes = matmul_workspace,
        .make = make_batch_matmul}},
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
