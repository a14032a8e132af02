// How kernels with a group for every row choose their items: by the row's width alone, so that a
// row's bits do not depend on how many there are.
#pragma once

#include <cstdint>

namespace pounce::kernels {

inline int row_items(int64_t width) {
  if (width <= 128) return 32;
  return width <= 1024 ? 64 : 256;
}

}  // namespace pounce::kernels
