#include "data/resize_kernels.h"

#include <algorithm>

// Kernels keep vectors in arrays, which types without a size cannot do.
#ifndef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#endif
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "data/resize_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef POUNCE_RESIZE_KERNELS_ONCE
#define POUNCE_RESIZE_KERNELS_ONCE
namespace pounce {
namespace {

constexpr int kLowBits = kWeightBits / 2;
constexpr int32_t kHalf = 1 << (kWeightBits - 1);
constexpr size_t kBlock = 16;  // bytes loaded for a result pixel
constexpr size_t kLanes = 4;   // int32 in a block
constexpr size_t kTurns = 4;   // of the table that a group is, see RowWeights
constexpr size_t kBlocks = 4;
constexpr int kGroup = int(kTurns * kBlocks);
constexpr size_t kGroupHalves = kGroup * kLanes;

// The sum of pixels by weights, two at a time.
struct PlainSum {
  int32_t high = 0, low = 0;

  void add(int32_t a, int32_t b, int32_t high_halves, int32_t low_halves) {
    high += a * (high_halves & 0xFFFF) + b * (high_halves >> 16);
    low += a * (low_halves & 0xFFFF) + b * (low_halves >> 16);
  }
  // Rounding of the weights may have led beyond 255.
  uint8_t byte() const {
    return uint8_t(std::min(((high << kLowBits) + low + kHalf) >> kWeightBits, 255));
  }
};

inline void mix_rows_plainly(const uint8_t* const* rows, const int32_t* halves, int pairs,
                             size_t count, uint8_t* out) {
  for (size_t at = 0; at < count; ++at) {
    PlainSum sum;
    for (int pair = 0; pair < pairs; ++pair) {
      const int32_t* own = halves + 2 * pair;
      sum.add(rows[2 * pair][at], rows[2 * pair + 1][at], own[0], own[1]);
    }
    out[at] = sum.byte();
  }
}

}  // namespace
}  // namespace pounce
#endif  // POUNCE_RESIZE_KERNELS_ONCE

HWY_BEFORE_NAMESPACE();
namespace pounce {
namespace HWY_NAMESPACE {
namespace {

#if HWY_TARGET == HWY_SCALAR

void scale_row_plainly(const uint8_t* row, const RowWeights& weights, uint8_t* out) {
  for (int place = 0; place < weights.count; ++place) {
    const uint8_t* pixel = row + weights.offsets[weights.offset_at(place)];
    const int32_t* halves = &weights.halves[weights.halves_at(place)];
    for (size_t channel = 0; channel < 3; ++channel, ++out) {
      PlainSum sum;
      for (int pair = 0; pair < weights.pairs; ++pair) {
        const uint8_t* a = pixel + 6 * size_t(pair) + channel;
        const int32_t* own = halves + size_t(pair) * 2 * kGroupHalves;
        sum.add(a[0], a[3], own[0], own[kGroupHalves]);
      }
      *out = sum.byte();
    }
  }
}

void scale_rows_kernel(const uint8_t* const* from, int rows, const RowWeights& weights,
                       uint8_t* const* out) {
  for (int row = 0; row < rows; ++row) scale_row_plainly(from[row], weights, out[row]);
}

void mix_rows_kernel(const uint8_t* const* rows, const int32_t* halves, int pairs, size_t count,
                     uint8_t* out) {
  mix_rows_plainly(rows, halves, pairs, count, out);
}

#else

namespace hn = hwy::HWY_NAMESPACE;

template <class ByteTag>
using ShortTag = hn::Repartition<int16_t, ByteTag>;
template <class ByteTag>
using WordTag = hn::Repartition<int32_t, ByteTag>;
template <class ByteTag>
using ByteVector = hn::Vec<ByteTag>;
template <class ByteTag>
using WordVector = hn::Vec<WordTag<ByteTag> >;

// sums + for each int32 the products of two neighbouring int16, added up.
template <class ByteTag>
HWY_INLINE WordVector<ByteTag> add_products(WordVector<ByteTag> sums, hn::Vec<ShortTag<ByteTag> > a,
                                            hn::Vec<ShortTag<ByteTag> > b) {
  constexpr WordTag<ByteTag> words;
#if HWY_ARCH_X86
  WordVector<ByteTag> unused = hn::Zero(words);
  return hn::ReorderWidenMulAccumulate(words, a, b, sums, unused);
#else
  auto as = hn::BitCast(words, a), bs = hn::BitCast(words, b);
  auto even =
      hn::Mul(hn::ShiftRight<16>(hn::ShiftLeft<16>(as)), hn::ShiftRight<16>(hn::ShiftLeft<16>(bs)));
  auto odd = hn::Mul(hn::ShiftRight<16>(as), hn::ShiftRight<16>(bs));
  return hn::Add(sums, hn::Add(even, odd));
#endif
}

// The two sums of a pixel to its value, where the low one began with kHalf; rounding of the weights
// may have led beyond 255.
template <class ByteTag>
HWY_INLINE WordVector<ByteTag> round_sums(WordVector<ByteTag> high, WordVector<ByteTag> low) {
  return hn::ShiftRight<kWeightBits>(hn::Add(hn::ShiftLeft<kLowBits>(high), low));
}

// Blocks from as many places as the vector has blocks.
template <class ByteTag>
HWY_INLINE ByteVector<ByteTag> load_blocks(ByteTag bytes, const uint8_t* row,
                                           const int32_t* offsets) {
  if constexpr (hn::MaxLanes(ByteTag()) == kBlock) {
    return hn::LoadU(bytes, row + offsets[0]);
  } else {
    constexpr hn::Half<ByteTag> half;
    constexpr size_t kHalfBlocks = hn::MaxLanes(ByteTag()) / 2 / kBlock;
    return hn::Combine(bytes, load_blocks(half, row, offsets + kHalfBlocks),
                       load_blocks(half, row, offsets));
  }
}

// Red, green, blue of pixels 0 and 1 (2 and 3) of a block side by side as int16.
alignas(16) constexpr uint8_t kFirstPair[16] = {0, 0x80, 3, 0x80, 1,    0x80, 4,    0x80,
                                                2, 0x80, 5, 0x80, 0x80, 0x80, 0x80, 0x80};
alignas(16) constexpr uint8_t kSecondPair[16] = {6, 0x80, 9,  0x80, 7,    0x80, 10,   0x80,
                                                 8, 0x80, 11, 0x80, 0x80, 0x80, 0x80, 0x80};
// A block of four pixels as packing leaves them, turns 0 and 2 and then 1 and 3 side by side, to
// three bytes a pixel and four of no interest.
alignas(16) constexpr uint8_t kInOrder[16] = {0, 2, 4,  8,  10,   12,   1,    3,
                                              5, 9, 11, 13, 0x80, 0x80, 0x80, 0x80};
// Closes the gaps between blocks: three int32 of each.
alignas(64) constexpr int32_t kWithoutGaps[16] = {0,  1,  2,  4,  5,  6,  8,  9,
                                                  10, 12, 13, 14, 15, 15, 15, 15};

// The values of four turns to bytes: three for each pixel, all in order.
template <class ByteTag>
HWY_INLINE void store_turns(ByteTag bytes, const WordVector<ByteTag>* turns, uint8_t* out) {
  constexpr ShortTag<ByteTag> shorts;
  constexpr WordTag<ByteTag> words;
  const auto most = hn::Set(shorts, 0xFF);
  auto even = hn::Min(hn::ReorderDemote2To(shorts, turns[0], turns[1]), most);
  auto odd = hn::Min(hn::ReorderDemote2To(shorts, turns[2], turns[3]), most);
  auto mixed = hn::BitCast(bytes, hn::Or(even, hn::ShiftLeft<8>(odd)));
  auto blocks = hn::TableLookupBytesOr0(mixed, hn::LoadDup128(bytes, kInOrder));
  if constexpr (hn::MaxLanes(ByteTag()) > kBlock) {
    auto order = hn::SetTableIndices(words, kWithoutGaps);
    blocks = hn::BitCast(bytes, hn::TableLookupLanes(hn::BitCast(words, blocks), order));
  }
  hn::StoreU(blocks, bytes, out);
}

// One turn of `kRows` rows: as many result pixels as a vector has blocks. `halves` and `offsets`
// are where they begin. kPairs: how many pairs of weights a result has, 0 when it is not known
// while compiling.
template <int kPairs, int kRows, class ByteTag>
HWY_INLINE void scale_turn(ByteTag bytes, const uint8_t* const* from, int pairs,
                           const int32_t* halves, const int32_t* offsets,
                           WordVector<ByteTag> (*sums)[kTurns], size_t turn) {
  constexpr ShortTag<ByteTag> shorts;
  constexpr WordTag<ByteTag> words;
  WordVector<ByteTag> high[kRows], low[kRows];
  for (int row = 0; row < kRows; ++row) {
    high[row] = hn::Zero(words);
    low[row] = hn::Set(words, kHalf);
  }
  if (kPairs) pairs = kPairs;
  const auto first_pair = hn::LoadDup128(bytes, kFirstPair);
  const auto second_pair = hn::LoadDup128(bytes, kSecondPair);
  auto load_halves = [&](const int32_t* at)
                         HWY_ATTR { return hn::BitCast(shorts, hn::LoadU(words, at)); };
  for (int pair = 0; pair < pairs; pair += 2, halves += 4 * kGroupHalves) {
    const bool has_second = pair + 1 < pairs;
    const auto first_high = load_halves(halves), first_low = load_halves(halves + kGroupHalves);
    auto second_high = first_high, second_low = first_low;
    if (has_second) {
      second_high = load_halves(halves + 2 * kGroupHalves);
      second_low = load_halves(halves + 3 * kGroupHalves);
    }
    for (int row = 0; row < kRows; ++row) {
      auto pixels = load_blocks(bytes, from[row] + 6 * size_t(pair), offsets);
      auto first = hn::BitCast(shorts, hn::TableLookupBytesOr0(pixels, first_pair));
      high[row] = add_products<ByteTag>(high[row], first, first_high);
      low[row] = add_products<ByteTag>(low[row], first, first_low);
      if (!has_second) continue;
      auto second = hn::BitCast(shorts, hn::TableLookupBytesOr0(pixels, second_pair));
      high[row] = add_products<ByteTag>(high[row], second, second_high);
      low[row] = add_products<ByteTag>(low[row], second, second_low);
    }
  }
  for (int row = 0; row < kRows; ++row) sums[row][turn] = round_sums<ByteTag>(high[row], low[row]);
}

template <int kPairs, int kRows>
HWY_INLINE void scale_rows_by(const uint8_t* const* from, const RowWeights& weights,
                              uint8_t* const* out) {
  using ByteTag = hn::CappedTag<uint8_t, kBlocks * kBlock>;
  constexpr ByteTag bytes;
  constexpr size_t kStep = hn::MaxLanes(ByteTag()) / kBlock;  // blocks a vector
  const int32_t* halves = weights.halves.data();
  const int32_t* offsets = weights.offsets.data();
  size_t written = 0;
  for (int at = 0; at < weights.count; at += kGroup) {
    for (size_t block = 0; block < kBlocks; block += kStep) {
      WordVector<ByteTag> sums[kRows][kTurns];
      for (size_t turn = 0; turn < kTurns; ++turn) {
        size_t place = turn * kBlocks + block;
        scale_turn<kPairs, kRows>(bytes, from, weights.pairs, halves + place * kLanes,
                                  offsets + place, sums, turn);
      }
      for (int row = 0; row < kRows; ++row) store_turns(bytes, sums[row], out[row] + written);
      written += kStep * kTurns * 3;
    }
    halves += size_t(weights.pairs) * 2 * kGroupHalves;
    offsets += kGroup;
  }
}

template <int kRows>
HWY_INLINE void scale_rows_together(const uint8_t* const* from, const RowWeights& weights,
                                    uint8_t* const* out) {
  switch (weights.pairs) {
    case 1:
      return scale_rows_by<1, kRows>(from, weights, out);
    case 2:
      return scale_rows_by<2, kRows>(from, weights, out);
    default:
      return scale_rows_by<0, kRows>(from, weights, out);
  }
}

void scale_rows_kernel(const uint8_t* const* from, int rows, const RowWeights& weights,
                       uint8_t* const* out) {
  if (rows == kRowsTogether) return scale_rows_together<kRowsTogether>(from, weights, out);
  for (int row = 0; row < rows; ++row) scale_rows_together<1>(from + row, weights, out + row);
}

// As many bytes as a vector has, from `at` on.
template <class ByteTag>
HWY_INLINE void mix_piece(ByteTag bytes, const uint8_t* const* rows, const int32_t* halves,
                          int pairs, size_t at, uint8_t* out) {
  constexpr ShortTag<ByteTag> shorts;
  constexpr WordTag<ByteTag> words;
  constexpr int kParts = 4;  // even and odd bytes, the lower and upper ones of a block
  WordVector<ByteTag> high[kParts], low[kParts];
  for (int part = 0; part < kParts; ++part) {
    high[part] = hn::Zero(words);
    low[part] = hn::Set(words, kHalf);
  }
  const auto low_byte = hn::Set(shorts, 0xFF);
  constexpr hn::Repartition<uint16_t, ByteTag> unsigned_shorts;
  for (int pair = 0; pair < pairs; ++pair) {
    auto a = hn::BitCast(unsigned_shorts, hn::LoadU(bytes, rows[2 * pair] + at));
    auto b = hn::BitCast(unsigned_shorts, hn::LoadU(bytes, rows[2 * pair + 1] + at));
    auto a_even = hn::And(hn::BitCast(shorts, a), low_byte);
    auto b_even = hn::And(hn::BitCast(shorts, b), low_byte);
    auto a_odd = hn::BitCast(shorts, hn::ShiftRight<8>(a));
    auto b_odd = hn::BitCast(shorts, hn::ShiftRight<8>(b));
    const hn::Vec<ShortTag<ByteTag> > pixels[kParts] = {
        hn::InterleaveLower(shorts, a_even, b_even), hn::InterleaveUpper(shorts, a_even, b_even),
        hn::InterleaveLower(shorts, a_odd, b_odd), hn::InterleaveUpper(shorts, a_odd, b_odd)};
    auto high_weights = hn::BitCast(shorts, hn::Set(words, halves[2 * pair]));
    auto low_weights = hn::BitCast(shorts, hn::Set(words, halves[2 * pair + 1]));
    for (int part = 0; part < kParts; ++part) {
      high[part] = add_products<ByteTag>(high[part], pixels[part], high_weights);
      low[part] = add_products<ByteTag>(low[part], pixels[part], low_weights);
    }
  }
  for (int part = 0; part < kParts; ++part) high[part] = round_sums<ByteTag>(high[part], low[part]);
  // The two vectors are packed block by block, which undoes the interleaving.
  auto even = hn::Min(hn::ReorderDemote2To(shorts, high[0], high[1]), low_byte);
  auto odd = hn::Min(hn::ReorderDemote2To(shorts, high[2], high[3]), low_byte);
  hn::StoreU(hn::BitCast(bytes, hn::Or(even, hn::ShiftLeft<8>(odd))), bytes, out + at);
}

// The last piece is moved to the left until it fits; what it computes twice comes out the same.
template <class ByteTag>
HWY_INLINE void mix_pieces(ByteTag bytes, const uint8_t* const* rows, const int32_t* halves,
                           int pairs, size_t count, uint8_t* out) {
  constexpr size_t kPiece = hn::MaxLanes(ByteTag());
  for (size_t at = 0; at < count; at += kPiece) {
    mix_piece(bytes, rows, halves, pairs, std::min(at, count - kPiece), out);
  }
}

void mix_rows_kernel(const uint8_t* const* rows, const int32_t* halves, int pairs, size_t count,
                     uint8_t* out) {
  using Widest = hn::CappedTag<uint8_t, 64>;
  using Narrow = hn::Full128<uint8_t>;
  if (count >= hn::MaxLanes(Widest())) {
    pairs == 1 ? mix_pieces(Widest(), rows, halves, 1, count, out)
               : mix_pieces(Widest(), rows, halves, pairs, count, out);
  } else if (count >= hn::MaxLanes(Narrow())) {
    mix_pieces(Narrow(), rows, halves, pairs, count, out);
  } else {
    mix_rows_plainly(rows, halves, pairs, count, out);
  }
}

#endif  // HWY_TARGET == HWY_SCALAR

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace pounce
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pounce {
namespace {

HWY_EXPORT(scale_rows_kernel);
HWY_EXPORT(mix_rows_kernel);

// Halves of two weights, the first in the low 16 bits.
struct PairHalves {
  int32_t high, low;
};

PairHalves split_pair(const int32_t* weights, int taps, int pair) {
  int32_t first = weights[2 * pair];
  int32_t second = 2 * pair + 1 < taps ? weights[2 * pair + 1] : 0;
  constexpr int32_t kMask = (1 << kLowBits) - 1;
  return {first >> kLowBits | (second >> kLowBits) << 16, (first & kMask) | (second & kMask) << 16};
}

}  // namespace

size_t RowWeights::offset_at(int place) const {
  size_t in_group = size_t(place % kGroup);
  return size_t(place / kGroup) * kGroup + in_group % kTurns * kBlocks + in_group / kTurns;
}

size_t RowWeights::halves_at(int place) const {
  size_t group = size_t(place / kGroup);
  return group * size_t(pairs) * 2 * kGroupHalves + (offset_at(place) - group * kGroup) * kLanes;
}

void RowWeights::pack(const ResizeAxis& axis) {
  count = axis.count();
  pairs = (axis.taps + 1) / 2;
  size_t groups = size_t(count + kGroup - 1) / kGroup;
  offsets.assign(groups * kGroup, 0);
  halves.assign(groups * size_t(pairs) * 2 * kGroupHalves, 0);
  for (int k = 0; k < count; ++k) {
    size_t place = size_t(axis.is_reversed ? count - 1 - k : k);
    offsets[offset_at(int(place))] = 3 * axis.first[size_t(k)];
    const int32_t* weights = &axis.weights[size_t(k) * size_t(axis.taps)];
    int32_t* own = &halves[halves_at(int(place))];
    for (int pair = 0; pair < pairs; ++pair, own += 2 * kGroupHalves) {
      PairHalves split = split_pair(weights, axis.taps, pair);
      std::fill_n(own, kLanes, split.high);
      std::fill_n(own + kGroupHalves, kLanes, split.low);
    }
  }
}

void ColumnWeights::pack(const ResizeAxis& axis) {
  pairs = (axis.taps + 1) / 2;
  halves.clear();
  for (int k = 0; k < axis.count(); ++k) {
    const int32_t* weights = &axis.weights[size_t(k) * size_t(axis.taps)];
    for (int pair = 0; pair < pairs; ++pair) {
      PairHalves split = split_pair(weights, axis.taps, pair);
      halves.push_back(split.high);
      halves.push_back(split.low);
    }
  }
}

void scale_rows(const uint8_t* const* from, int rows, const RowWeights& weights,
                uint8_t* const* out) {
  HWY_DYNAMIC_DISPATCH(scale_rows_kernel)(from, rows, weights, out);
}

void mix_rows(const uint8_t* const* rows, const int32_t* halves, int pairs, size_t bytes,
              uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(mix_rows_kernel)(rows, halves, pairs, bytes, out);
}

}  // namespace pounce
#endif  // HWY_ONCE
