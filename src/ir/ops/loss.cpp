#include "ir/ops/families.h"

namespace pounce {
namespace {

void expect_loss_inputs(const TensorType& logits, const TensorType& targets,
                        const TensorType& weights) {
  expect_wide(logits, "logits");
  expect_rank(logits, "logits", 2);
  expect_type(targets, "targets", logits);
  expect_type(weights, "sample_weights", {logits.dtype, {logits.shape[0]}});
}

std::vector<TensorType> infer_cross_entropy(const InferInput& in) {
  expect_loss_inputs(in.inputs[0], in.inputs[1], in.inputs[2]);
  return {in.inputs[2]};
}

std::vector<TensorType> infer_cross_entropy_bwd(const InferInput& in) {
  expect_loss_inputs(in.inputs[1], in.inputs[2], in.inputs[3]);
  expect_type(in.inputs[0], "grad_loss", in.inputs[3]);
  return {in.inputs[1]};
}

std::vector<TensorType> infer_target_rank(const InferInput& in) {
  expect_wide(in.inputs[0], "logits");
  expect_rank(in.inputs[0], "logits", 2);
  expect_type(in.inputs[1], "labels", {DType::I32, {in.inputs[0].shape[0]}});
  return {in.inputs[1]};
}

}  // namespace

std::vector<OpInfo> loss_ops() {
  return {
      // loss[n] = weights[n] * -sum_c targets[n,c] log softmax(logits[n])[c]; not summed, so that
      // the host adds the samples in image order.
      {.kind = OpKind::CrossEntropy,
       .name = "cross_entropy",
       .inputs = {"logits", "targets", "sample_weights"},
       .outputs = {"loss"},
       .attributes = {},
       .infer = infer_cross_entropy},
      {.kind = OpKind::CrossEntropyBwd,
       .name = "cross_entropy_bwd",
       .inputs = {"grad_loss", "logits", "targets", "sample_weights"},
       .outputs = {"grad_logits"},
       .attributes = {},
       .infer = infer_cross_entropy_bwd},
      // How many classes score above the label's (ties: lower index first): 0 is correct, below 5
      // is in the top 5. A row that holds NaN ranks `classes`, so that it never counts as correct.
      {.kind = OpKind::TargetRank,
       .name = "target_rank",
       .inputs = {"logits", "labels"},
       .outputs = {"rank"},
       .attributes = {},
       .infer = infer_target_rank},
  };
}

}  // namespace pounce
