// The two loops of a resize, for every instruction set: a row of pixels to fewer or more pixels,
// and the weighted sum of rows. Integers throughout, so every machine gives the same bytes.
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

// Bytes behind the last pixel of a row that scale_row may read, and behind its result that it may
// write.
constexpr size_t kRowPadding = 16;

// The weights of an axis along a row, laid out for scale_row: entries in the order of the results.
struct RowWeights {
  int count = 0;                 // result pixels
  int pairs = 0;                 // of weights a result pixel
  std::vector<int32_t> offsets;  // [count rounded up to 4], bytes from the start of the row
  // [count / 4, pairs, 2, 4, 4]: for four results and two neighbouring pixels the high and the low
  // halves, each once for red, green, blue and a lane of no interest. Two int16 in each.
  std::vector<int32_t> halves;

  void pack(const ResizeAxis& axis);
  // Where the halves of a result pixel begin; those of its next pair follow 32 int32 later.
  size_t halves_at(int place) const;
};

// The weights of an axis across rows, laid out for mix_rows.
struct ColumnWeights {
  int pairs = 0;
  std::vector<int32_t> halves;  // [count, pairs, 2]

  void pack(const ResizeAxis& axis);
};

// [.., 3] to [count, 3]. Reads and writes up to kRowPadding bytes beyond.
void scale_row(const uint8_t* row, const RowWeights& weights, uint8_t* out);

// The weighted sum of 2 * `pairs` rows of `bytes` bytes each, without padding. `halves`: [pairs,
// 2].
void mix_rows(const uint8_t* const* rows, const int32_t* halves, int pairs, size_t bytes,
              uint8_t* out);

}  // namespace pounce
