#include "backend/reference/families.h"

namespace pounce::reference {
namespace {

// Of matrices, or of as many pairs of them as the leading axes count.
template <typename T>
HostKernel make_matmul(const NodeContext& context) {
  const Attributes& attributes = context.node.attributes;
  const Shape& a_shape = context.input(0).shape;
  const Shape& b_shape = context.input(1).shape;
  bool transpose_a = attributes.integer("transpose_a") != 0;
  bool transpose_b = attributes.integer("transpose_b") != 0;
  int rank = a_shape.rank();
  int64_t rows = context.output(0).shape[rank - 2], columns = context.output(0).shape[rank - 1];
  int64_t depth = a_shape[transpose_a ? rank - 2 : rank - 1];
  int64_t a_width = a_shape[rank - 1], b_width = b_shape[rank - 1];
  int64_t a_row = transpose_a ? 1 : a_width, a_depth = transpose_a ? a_width : 1;
  int64_t b_column = transpose_b ? b_width : 1, b_depth = transpose_b ? 1 : b_width;
  int64_t elements = context.output(0).shape.elements();
  int64_t products = elements == 0 ? 0 : elements / (rows * columns);
  return [=](const KernelArguments& arguments) {
    for (int64_t n = 0; n < products; ++n) {
      const T* a = arguments.input<T>(0) + n * rows * depth;
      const T* b = arguments.input<T>(1) + n * depth * columns;
      T* y = arguments.output<T>(0) + n * rows * columns;
      for (int64_t i = 0; i < rows; ++i) {
        for (int64_t j = 0; j < columns; ++j) {
          double sum = 0;
          for (int64_t k = 0; k < depth; ++k) {
            sum += double(a[i * a_row + k * a_depth]) * double(b[j * b_column + k * b_depth]);
          }
          y[i * columns + j] = T(sum);
        }
      }
    }
  };
}

template <typename T>
HostKernel make_bias_add(const NodeContext& context) {
  int64_t elements = context.input(0).shape.elements();
  int64_t channels = channels_of(context.input(0));
  return [=](const KernelArguments& arguments) {
    const T* x = arguments.input<T>(0);
    const T* bias = arguments.input<T>(1);
    T* y = arguments.output<T>(0);
    for (int64_t i = 0; i < elements; ++i) y[i] = x[i] + bias[i % channels];
  };
}

template <typename T>
HostKernel make_bias_bwd(const NodeContext& context) {
  int64_t rows = context.input(0).shape[0];
  int64_t channels = context.input(0).shape[1];
  return [=](const KernelArguments& arguments) {
    const T* grad_y = arguments.input<T>(0);
    T* grad_bias = arguments.output<T>(0);
    for (int64_t c = 0; c < channels; ++c) {
      double sum = 0;
      for (int64_t n = 0; n < rows; ++n) sum += double(grad_y[n * channels + c]);
      grad_bias[c] = T(sum);
    }
  };
}

}  // namespace

std::vector<Row> linear_kernels() {
  return {
      floating_row<make_matmul<float>, make_matmul<double>>(OpKind::MatMul),
      floating_row<make_bias_add<float>, make_bias_add<double>>(OpKind::BiasAdd),
      floating_row<make_bias_bwd<float>, make_bias_bwd<double>>(OpKind::BiasBwd),
      floating_row<make_matmul<float>, make_matmul<double>>(OpKind::BatchMatMul),
  };
}

}  // namespace pounce::reference
