#include "ir/ops/families.h"

namespace pounce {
namespace {

void expect_norm_input(const TensorType& x) {
  expect_floating(x, "x");
  if (x.shape.rank() < 2) {
    fail(ErrorKind::InvalidArgument, "x is {}, expected at least 2 axes", to_string(x));
  }
  if (x.shape[x.shape.rank() - 1] == 0) {
    fail(ErrorKind::InvalidArgument, "x is {}, expected at least 1 channel", to_string(x));
  }
}

std::vector<TensorType> infer_batch_norm(const InferInput& in) {
  const TensorType& x = in.inputs[0];
  expect_norm_input(x);
  const char* names[] = {"x", "gamma", "beta", "running_mean", "running_var"};
  for (size_t i = 1; i < 5; ++i) expect_channels(in.inputs[i], names[i], x);
  const TensorType& channels = in.inputs[1];
  if (x.shape.elements() / channels.shape[0] < 2) {
    throw Error(
        ErrorKind::InvalidArgument,
        fmt::format("x is {}: batch statistics need at least 2 values a channel", to_string(x)),
        "use a larger batch or larger images");
  }
  return {x, channels, channels, channels, channels};
}

std::vector<TensorType> infer_batch_norm_bwd(const InferInput& in) {
  const TensorType& x = in.inputs[1];
  expect_norm_input(x);
  expect_type(in.inputs[0], "grad_y", x);
  const char* names[] = {"grad_y", "x", "gamma", "mean", "inv_std"};
  for (size_t i = 2; i < 5; ++i) expect_channels(in.inputs[i], names[i], x);
  return {x, in.inputs[2], in.inputs[2]};
}

std::vector<TensorType> infer_batch_norm_inference(const InferInput& in) {
  expect_norm_input(in.inputs[0]);
  const char* names[] = {"x", "gamma", "beta", "mean", "var"};
  for (size_t i = 1; i < 5; ++i) expect_channels(in.inputs[i], names[i], in.inputs[0]);
  return {in.inputs[0]};
}

// One for each row, which is the last axis of x.
TensorType row_statistic(const TensorType& x) {
  return {wide(x.dtype), Shape(x.shape.extents().first(size_t(x.shape.rank() - 1)))};
}

void expect_rows(const TensorType& x) {
  expect_floating(x, "x");
  if (x.shape.rank() == 0 || x.shape[x.shape.rank() - 1] == 0) {
    fail(ErrorKind::InvalidArgument, "x is {}, expected a last axis that is not empty",
         to_string(x));
  }
}

std::vector<TensorType> infer_layer_norm(const InferInput& in) {
  const TensorType& x = in.inputs[0];
  expect_rows(x);
  expect_channels(in.inputs[1], "gamma", x);
  expect_channels(in.inputs[2], "beta", x);
  return {x, row_statistic(x), row_statistic(x)};
}

std::vector<TensorType> infer_layer_norm_bwd(const InferInput& in) {
  const TensorType& x = in.inputs[1];
  expect_rows(x);
  expect_type(in.inputs[0], "grad_y", x);
  expect_channels(in.inputs[2], "gamma", x);
  expect_type(in.inputs[3], "mean", row_statistic(x));
  expect_type(in.inputs[4], "inv_std", row_statistic(x));
  return {x, in.inputs[2], in.inputs[2]};
}

}  // namespace

std::vector<OpInfo> norm_ops() {
  const AttributeInfo eps = {"eps", AttributeType::Float, AttributeValue(1e-5)};
  return {
      // Over all axes but the last. y = gamma (x - mean) inv_std + beta with the biased variance of
      // the batch; running = (1 - momentum) running + momentum batch with the unbiased one, as
      // PyTorch. Source: Ioffe and Szegedy 2015.
      {.kind = OpKind::BatchNorm,
       .name = "batch_norm",
       .inputs = {"x", "gamma", "beta", "running_mean", "running_var"},
       .outputs = {"y", "mean", "inv_std", "running_mean", "running_var"},
       .attributes = {eps, {"momentum", AttributeType::Float, AttributeValue(0.1)}},
       .infer = infer_batch_norm,
       .in_place = {{3, 3}, {4, 4}},
       .half_operands = 1,
       .autocast = Autocast::Follow},
      {.kind = OpKind::BatchNormBwd,
       .name = "batch_norm_bwd",
       .inputs = {"grad_y", "x", "gamma", "mean", "inv_std"},
       .outputs = {"grad_x", "grad_gamma", "grad_beta"},
       .attributes = {},
       .infer = infer_batch_norm_bwd,
       .in_place = {{0, 0}},
       .half_operands = 2,
       .autocast = Autocast::Follow},
      // With given statistics.
      {.kind = OpKind::BatchNormInference,
       .name = "batch_norm_inference",
       .inputs = {"x", "gamma", "beta", "mean", "var"},
       .outputs = {"y"},
       .attributes = {eps},
       .infer = infer_batch_norm_inference,
       .in_place = {{0, 0}},
       .half_operands = 1,
       .autocast = Autocast::Follow},
      // Over the last axis: y = gamma (x - mean) inv_std + beta with the biased variance of each
      // row. Source: Ba, Kiros and Hinton 2016.
      {.kind = OpKind::LayerNorm,
       .name = "layer_norm",
       .inputs = {"x", "gamma", "beta"},
       .outputs = {"y", "mean", "inv_std"},
       .attributes = {eps},
       .infer = infer_layer_norm,
       .in_place = {{0, 0}},
       .half_operands = 1,
       .autocast = Autocast::Follow},
      {.kind = OpKind::LayerNormBwd,
       .name = "layer_norm_bwd",
       .inputs = {"grad_y", "x", "gamma", "mean", "inv_std"},
       .outputs = {"grad_x", "grad_gamma", "grad_beta"},
       .attributes = {},
       .infer = infer_layer_norm_bwd,
       .in_place = {{0, 0}},
       .half_operands = 2,
       .autocast = Autocast::Follow},
  };
}

}  // namespace pounce
