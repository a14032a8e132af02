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
    case OpKind::Copy:
      return copy_vjp;
    case OpKind::MatMul:
      return matmul_vjp;
    case OpKind::BiasAdd:
      return bias_add_vjp;
    case OpKind::Conv2d:
      return conv2d_vjp;
    case OpKind::BatchNorm:
      return batch_norm_vjp;
    case OpKind::MaxPool:
      return max_pool_vjp;
    case OpKind::GlobalAvgPool:
      return global_avg_pool_vjp;
    case OpKind::CrossEntropy:
      return cross_entropy_vjp;
    default:
      return nullptr;
  }
}

}  // namespace pounce
