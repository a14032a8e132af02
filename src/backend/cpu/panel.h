// The extents that products are packed and cut by, the same for every instruction set, so that
// neither plans nor the order of sums depend on it.
#pragma once

#include <cstdint>

namespace pounce::cpu {

// Elements of y that the register kernels of tile_product-inl.h compute: their tiles divide them.
constexpr int64_t kPanelRows = 12;
constexpr int64_t kPanelColumns = 32;
// Fewer rows come in multiples of this.
constexpr int64_t kRowStep = 4;

constexpr int64_t ceil_div(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

constexpr int64_t round_up(int64_t a, int64_t b) {
  return ceil_div(a, b) * b;
}

}  // namespace pounce::cpu
