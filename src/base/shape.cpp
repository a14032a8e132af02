#include "base/shape.h"

#include <algorithm>

#include "base/error.h"

namespace pounce {
namespace {

// Bytes of any dtype, and sums of a few such sizes, stay far below 2^63.
constexpr int64_t kMaxElements = int64_t{1} << 48;

}  // namespace

Shape::Shape(std::initializer_list<int64_t> extents)
    : Shape(std::span<const int64_t>(extents.begin(), extents.size())) {}

Shape::Shape(std::span<const int64_t> extents) {
  if (extents.size() > kMaxRank) {
    fail(ErrorKind::InvalidArgument, "a shape has {} axes, at most {} are supported",
         extents.size(), kMaxRank);
  }
  for (int64_t extent : extents) {
    if (extent < 0) fail(ErrorKind::InvalidArgument, "a shape has the negative extent {}", extent);
    extents_[size_t(rank_++)] = extent;
  }
  int64_t product = 1;
  for (int64_t extent : extents) {
    if (extent > 0 && product > kMaxElements / extent) {
      fail(ErrorKind::InvalidArgument, "a tensor of [{}] has too many elements",
           fmt::join(extents, ","));
    }
    product *= std::max<int64_t>(extent, 1);
  }
}

int64_t Shape::operator[](int axis) const {
  POUNCE_ASSERT(axis >= 0 && axis < rank_);
  return extents_[size_t(axis)];
}

int64_t Shape::elements() const {
  int64_t product = 1;
  for (int64_t extent : extents()) product *= extent;
  return product;
}

std::string to_string(const Shape& shape) {
  return fmt::format("[{}]", fmt::join(shape.extents(), ","));
}

}  // namespace pounce
