// The two loops of a resize, for every instruction set: rows of pixels to fewer or more pixels, and
// the weighted sum of rows. Integers throughout, so every machine gives the same bytes.
//
// A weight has 22 bits. It is split into two halves of 11, so that one instruction multiplies two
// pixels by two weights and adds them: sum(pixel * weight) = (sum(pixel * high) << 11) +
// sum(pixel * low), exactly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "data/resize_axis.h"

namespace pounce {

// Bytes behind the last pixel of a row that scale_rows may read.
constexpr size_t kRowPadding = 16;
// Bytes behind the last pixel of its result that it may write.
constexpr size_t kScaledPadding = 64;
// Rows that it takes at once: so many share one load of the weights.
constexpr int kRowsTogether = 2;

// The weights of an axis along a row, laid out for scale_rows. Result pixels come in groups of 16,
// in the order of the results. A group is a table of 4 by 4: pixel 4 * block + turn stands at
// [turn][block], so that packing the four turns of a block to bytes leaves its pixels in order.
struct RowWeights {
  int count = 0;                 // result pixels
  int pairs = 0;                 // of weights a result pixel
  std::vector<int32_t> offsets;  // [groups, 4, 4], bytes from the start of the row
  // [groups, pairs, 2, 4, 4, 4]: for two neighbouring pixels the high and the low halves, each once
  // for red, green, blue and a lane of no interest. Two int16 in each.
  std::vector<int32_t> halves;

  void pack(const ResizeAxis& axis);
  // Where a result pixel stands in `offsets`, and where its halves begin; those of its next pair
  // follow 128 int32 later, the low ones 64 later.
  size_t offset_at(int place) const;
  size_t halves_at(int place) const;
};

// The weights of an axis across rows, laid out for mix_rows.
struct ColumnWeights {
  int pairs = 0;
  std::vector<int32_t> halves;  // [count, pairs, 2]

  void pack(const ResizeAxis& axis);
};

// `rows` rows, 1 to kRowsTogether, each [.., 3] to [count, 3] at the same index of `out`.
void scale_rows(const uint8_t* const* from, int rows, const RowWeights& weights,
                uint8_t* const* out);

// The weighted sum of 2 * `pairs` rows of `bytes` bytes each, without padding. `halves`: [pairs,
// 2].
void mix_rows(const uint8_t* const* rows, const int32_t* halves, int pairs, size_t bytes,
              uint8_t* out);

}  // namespace pounce
