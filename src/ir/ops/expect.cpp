#include "ir/ops/families.h"

namespace pounce {

void expect_rank(const TensorType& type, const char* what, int rank) {
  if (type.shape.rank() != rank) {
    fail(ErrorKind::InvalidArgument, "{} is {}, expected {} axes", what, to_string(type), rank);
  }
}

void expect_dtype(const TensorType& type, const char* what, DType dtype) {
  if (type.dtype != dtype) {
    fail(ErrorKind::InvalidArgument, "{} is {}, expected {}", what, to_string(type),
         dtype_name(dtype));
  }
}

void expect_floating(const TensorType& type, const char* what) {
  if (!is_floating(type.dtype)) {
    fail(ErrorKind::InvalidArgument, "{} is {}, expected a floating type", what, to_string(type));
  }
}

void expect_wide(const TensorType& type, const char* what) {
  if (!is_floating(type.dtype) || is_half(type.dtype)) {
    fail(ErrorKind::InvalidArgument, "{} is {}, expected f32 or f64, a floating type", what,
         to_string(type));
  }
}

void expect_type(const TensorType& type, const char* what, const TensorType& expected) {
  if (type != expected) {
    fail(ErrorKind::InvalidArgument, "{} is {}, expected {}", what, to_string(type),
         to_string(expected));
  }
}

void expect_channels(const TensorType& type, const char* what, const TensorType& of) {
  if (of.shape.rank() == 0) {
    fail(ErrorKind::InvalidArgument, "expected an input with channels, found a scalar");
  }
  expect_type(type, what, {wide(of.dtype), {of.shape[of.shape.rank() - 1]}});
}

}  // namespace pounce
