#include "ir/ops/families.h"

namespace pounce {
namespace {

std::vector<TensorType> infer_normalize(const InferInput& in) {
  expect_dtype(in.inputs[0], "images", DType::U8);
  expect_rank(in.inputs[0], "images", 4);
  size_t channels = size_t(in.inputs[0].shape[3]);
  for (const char* name : {"mean", "std"}) {
    if (in.attributes.numbers(name).size() != channels) {
      fail(ErrorKind::InvalidArgument, "{} has {} entries, the images {} have {} channels", name,
           in.attributes.numbers(name).size(), to_string(in.inputs[0]), channels);
    }
  }
  TensorType y{parse_dtype(in.attributes.text("dtype")).value_or(DType::U8), in.inputs[0].shape};
  if (y.dtype != DType::F32 && !is_half(y.dtype)) {
    fail(ErrorKind::InvalidArgument, "dtype is \"{}\", expected f32, f16 or bf16",
         in.attributes.text("dtype"));
  }
  return {y};
}

std::vector<TensorType> infer_one_hot(const InferInput& in) {
  expect_dtype(in.inputs[0], "labels", DType::I32);
  expect_rank(in.inputs[0], "labels", 1);
  return {{DType::F32, {in.inputs[0].shape[0], in.attributes.integer("classes")}}};
}

}  // namespace

std::vector<OpInfo> image_ops() {
  return {
      // (x / 255 - mean) / std by channel, NHWC.
      {.kind = OpKind::NormalizeImage,
       .name = "normalize_image",
       .inputs = {"images"},
       .outputs = {"y"},
       .attributes = {{"mean", AttributeType::Floats, {}},
                      {"std", AttributeType::Floats, {}},
                      {"dtype", AttributeType::Text, AttributeValue(std::string("f32"))}},
       .infer = infer_normalize,
       .autocast = Autocast::Source},
      // Row n: 1 - smoothing at labels[n], and smoothing / classes everywhere (Szegedy et al.
      // 2016).
      {.kind = OpKind::OneHot,
       .name = "one_hot",
       .inputs = {"labels"},
       .outputs = {"targets"},
       .attributes = {{"classes", AttributeType::Int, {}},
                      {"smoothing", AttributeType::Float, AttributeValue(0.0)}},
       .infer = infer_one_hot},
  };
}

}  // namespace pounce
