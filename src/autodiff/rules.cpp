#include "autodiff/rules.h"

namespace pounce {

VjpRule find_rule(OpKind op) {
  switch (op) {
    case OpKind::Add:
      return add_vjp;
    case OpKind::Mul:
      return mul_vjp;
    case OpKind::Relu:
      return relu_vjp;
    case OpKind::Sub:
      return sub_vjp;
    case OpKind::Div:
      return div_vjp;
    case OpKind::Max:
      return max_vjp;
    case OpKind::Min:
      return min_vjp;
    case OpKind::Neg:
      return neg_vjp;
    case OpKind::Exp:
      return exp_vjp;
    case OpKind::Log:
      return log_vjp;
    case OpKind::Sqrt:
    case OpKind::Rsqrt:
    case OpKind::Sigmoid:
    case OpKind::Tanh:
    case OpKind::Silu:
    case OpKind::Gelu:
    case OpKind::GeluTanh:
    case OpKind::HardSigmoid:
    case OpKind::HardSwish:
      return unary_vjp;
    case OpKind::Copy:
      return copy_vjp;
    case OpKind::Cast:
      return cast_vjp;
    case OpKind::MatMul:
      return matmul_vjp;
    case OpKind::BiasAdd:
      return bias_add_vjp;
    case OpKind::BatchMatMul:
      return batch_matmul_vjp;
    case OpKind::Reshape:
      return reshape_vjp;
    case OpKind::Transpose:
      return transpose_vjp;
    case OpKind::Slice:
      return slice_vjp;
    case OpKind::Pad:
      return pad_vjp;
    case OpKind::Concat:
      return concat_vjp;
    case OpKind::Broadcast:
      return broadcast_vjp;
    case OpKind::ReduceSum:
      return reduce_sum_vjp;
    case OpKind::ReduceMean:
      return reduce_mean_vjp;
    case OpKind::ReduceMax:
      return reduce_max_vjp;
    case OpKind::Softmax:
    case OpKind::LogSoftmax:
      return softmax_vjp;
    case OpKind::Conv2d:
      return conv2d_vjp;
    case OpKind::BatchNorm:
      return batch_norm_vjp;
    case OpKind::LayerNorm:
      return layer_norm_vjp;
    case OpKind::MaxPool:
      return max_pool_vjp;
    case OpKind::GlobalAvgPool:
      return global_avg_pool_vjp;
    case OpKind::AvgPool:
      return avg_pool_vjp;
    case OpKind::CrossEntropy:
      return cross_entropy_vjp;
    default:
      return nullptr;
  }
}

}  // namespace pounce
