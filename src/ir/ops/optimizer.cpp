#include "ir/ops/families.h"

namespace pounce {
namespace {

void expect_like_parameter(const InferInput& in, size_t first, size_t count) {
  expect_wide(in.inputs[0], "parameter");
  for (size_t i = first; i < first + count; ++i) {
    expect_type(in.inputs[i], i == 1 ? "gradient" : "optimizer state", in.inputs[0]);
  }
}

std::vector<TensorType> infer_sgd(const InferInput& in) {
  expect_like_parameter(in, 1, 2);
  expect_type(in.inputs[3], "learning_rate", kScalarF32);
  expect_type(in.inputs[4], "divisor", kScalarF32);
  expect_type(in.inputs[5], "stop", kStopFlag);
  return {in.inputs[0], in.inputs[0]};
}

std::vector<TensorType> infer_adam(const InferInput& in) {
  expect_like_parameter(in, 1, 3);
  expect_type(in.inputs[4], "learning_rate", kScalarF32);
  expect_type(in.inputs[5], "updates", kScalarI64);
  expect_type(in.inputs[6], "divisor", kScalarF32);
  expect_type(in.inputs[7], "stop", kStopFlag);
  return {in.inputs[0], in.inputs[0], in.inputs[0]};
}

std::vector<TensorType> infer_sum_squares(const InferInput& in) {
  expect_wide(in.inputs[0], "x");
  expect_type(in.inputs[1], "sum", kScalarF32);
  return {kScalarF32};
}

std::vector<TensorType> infer_clip_divisor(const InferInput& in) {
  expect_type(in.inputs[0], "divisor", kScalarF32);
  expect_type(in.inputs[1], "sum_squares", kScalarF32);
  if (!(in.attributes.number("max_norm") > 0)) {
    fail(ErrorKind::InvalidArgument, "max_norm is {}, expected a number above 0",
         in.attributes.number("max_norm"));
  }
  return {kScalarF32};
}

std::vector<TensorType> infer_moving_average(const InferInput& in) {
  expect_wide(in.inputs[0], "average");
  expect_type(in.inputs[1], "x", in.inputs[0]);
  expect_type(in.inputs[2], "updates", kScalarI64);
  expect_type(in.inputs[3], "stop", kStopFlag);
  return {in.inputs[0]};
}

// {good updates since the scale changed, skipped updates, those in a row}
const TensorType kScaleCounts{DType::I64, {3}};

std::vector<TensorType> infer_loss_scale(const InferInput& in) {
  expect_type(in.inputs[0], "scale", kScalarF32);
  expect_type(in.inputs[1], "counts", kScaleCounts);
  expect_type(in.inputs[2], "overflow", kStopFlag);
  expect_type(in.inputs[3], "stop", kStopFlag);
  if (in.attributes.integer("growth_interval") < 1) {
    fail(ErrorKind::InvalidArgument, "growth_interval is {}, expected 1 or more",
         in.attributes.integer("growth_interval"));
  }
  return {kScalarF32, kScaleCounts, kStopFlag, kStopFlag};
}

}  // namespace

std::vector<OpInfo> optimizer_ops() {
  const AttributeInfo decay = {"weight_decay", AttributeType::Float, AttributeValue(0.0)};
  return {
      // As torch.optim: g = gradient / divisor + decay * p; velocity = momentum * velocity + g;
      // p -= lr * (nesterov ? g + momentum * velocity : velocity). A set stop flag keeps all.
      {.kind = OpKind::Sgd,
       .name = "sgd",
       .inputs = {"parameter", "gradient", "velocity", "learning_rate", "divisor", "stop"},
       .outputs = {"parameter", "velocity"},
       .attributes = {{"momentum", AttributeType::Float, AttributeValue(0.9)},
                      {"nesterov", AttributeType::Int, AttributeValue(int64_t{0})},
                      decay},
       .infer = infer_sgd,
       .in_place = {{0, 0}, {1, 2}}},
      // Adam (Kingma and Ba 2015), with decoupled decay AdamW (Loshchilov and Hutter 2019), as
      // torch.optim computes them. `updates` counts those applied before this one.
      {.kind = OpKind::Adam,
       .name = "adam",
       .inputs = {"parameter", "gradient", "first_moment", "second_moment", "learning_rate",
                  "updates", "divisor", "stop"},
       .outputs = {"parameter", "first_moment", "second_moment"},
       .attributes = {{"beta1", AttributeType::Float, AttributeValue(0.9)},
                      {"beta2", AttributeType::Float, AttributeValue(0.999)},
                      {"eps", AttributeType::Float, AttributeValue(1e-8)},
                      {"decoupled", AttributeType::Int, AttributeValue(int64_t{0})},
                      decay},
       .infer = infer_adam,
       .in_place = {{0, 0}, {1, 2}, {2, 3}}},
      // sum + the sum of all squares of x; added up in double in an order that the shape fixes.
      {.kind = OpKind::SumSquares,
       .name = "sum_squares",
       .inputs = {"x", "sum"},
       .outputs = {"sum"},
       .attributes = {},
       .infer = infer_sum_squares},
      // The divisor that also clips: with norm = sqrt(sum_squares) / divisor, the mean gradient is
      // scaled by min(1, max_norm / (norm + 1e-6)), as torch.nn.utils.clip_grad_norm_ does.
      {.kind = OpKind::ClipDivisor,
       .name = "clip_divisor",
       .inputs = {"divisor", "sum_squares"},
       .outputs = {"divisor"},
       .attributes = {{"max_norm", AttributeType::Float, {}}},
       .infer = infer_clip_divisor},
      // d * average + (1 - d) * x with d = min(decay, (1 + updates) / (10 + updates)), so that the
      // first weights are soon forgotten; `updates` counts those before this one. A set stop flag
      // keeps the average. Source: tf.train.ExponentialMovingAverage.
      {.kind = OpKind::MovingAverage,
       .name = "moving_average",
       .inputs = {"average", "x", "updates", "stop"},
       .outputs = {"average"},
       .attributes = {{"decay", AttributeType::Float, {}}},
       .infer = infer_moving_average,
       .in_place = {{0, 0}}},
      // The factor of the loss that keeps fp16 gradients in range, after an update whose gradients
      // left `overflow` (as check_finite does). Halved on an overflow, at `least` the stop flag is
      // set instead; doubled up to `most` after growth_interval good updates. hold: set where the
      // update must change nothing. counts: good updates since the scale changed, skipped ones,
      // skipped ones in a row. A set stop flag keeps all. Source: Micikevicius et al. 2018.
      {.kind = OpKind::LossScale,
       .name = "loss_scale",
       .inputs = {"scale", "counts", "overflow", "stop"},
       .outputs = {"scale", "counts", "stop", "hold"},
       .attributes = {{"growth_interval", AttributeType::Int, AttributeValue(int64_t{2000})},
                      {"least", AttributeType::Float, AttributeValue(0x1p-5)},
                      {"most", AttributeType::Float, AttributeValue(0x1p24)}},
       .infer = infer_loss_scale,
       .in_place = {{0, 0}, {1, 1}, {2, 3}}},
  };
}

}  // namespace pounce
