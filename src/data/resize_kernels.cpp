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
constexpr int kGroup = 4;      // result pixels computed together
constexpr size_t kBlock = 16;  // bytes loaded for one of them
constexpr size_t kLanes = 4;   // int32 in a block
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

void scale_row_kernel(const uint8_t* row, const RowWeights& weights, uint8_t* out) {
  for (int place = 0; place < weights.count; ++place) {
    const uint8_t* pixel = row + weights.offsets[size_t(place)];
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

// The two sums of a pixel to its value; rounding of the weights may have led beyond 255.
template <class ByteTag>
HWY_INLINE WordVector<ByteTag> round_sums(WordVector<ByteTag> high, WordVector<ByteTag> low) {
  constexpr WordTag<ByteTag> words;
  auto sum = hn::Add(hn::ShiftLeft<kLowBits>(high), hn::Add(low, hn::Set(words, kHalf)));
  return hn::ShiftRight<kWeightBits>(sum);
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

// Values of a group to bytes, one block: four a pixel.
template <class ByteTag>
HWY_INLINE hn::Vec<hn::Full128<uint8_t> > group_bytes(const WordVector<ByteTag>* values) {
  constexpr hn::Full128<uint8_t> block;
  constexpr hn::Rebind<uint8_t, WordTag<ByteTag> > part;
  if constexpr (hn::MaxLanes(ByteTag()) == 64) {
    return hn::DemoteTo(part, values[0]);
  } else if constexpr (hn::MaxLanes(ByteTag()) == 32) {
    return hn::Combine(block, hn::DemoteTo(part, values[1]), hn::DemoteTo(part, values[0]));
  } else {
    constexpr hn::Half<hn::Full128<uint8_t> > half;
    auto upper = hn::Combine(half, hn::DemoteTo(part, values[3]), hn::DemoteTo(part, values[2]));
    auto lower = hn::Combine(half, hn::DemoteTo(part, values[1]), hn::DemoteTo(part, values[0]));
    return hn::Combine(block, upper, lower);
  }
}

// Red, green, blue of pixels 0 and 1 (2 and 3) of a block side by side as int16.
alignas(16) constexpr uint8_t kFirstPair[16] = {0, 0x80, 3, 0x80, 1,    0x80, 4,    0x80,
                                                2, 0x80, 5, 0x80, 0x80, 0x80, 0x80, 0x80};
alignas(16) constexpr uint8_t kSecondPair[16] = {6, 0x80, 9,  0x80, 7,    0x80, 10,   0x80,
                                                 8, 0x80, 11, 0x80, 0x80, 0x80, 0x80, 0x80};
// Four pixels of four bytes to four of three.
alignas(16) constexpr uint8_t kDense[16] = {0,  1,  2,  4,  5,    6,    8,    9,
                                            10, 12, 13, 14, 0x80, 0x80, 0x80, 0x80};

// kPairs: how many pairs of weights a result has, 0 when it is not known while compiling.
template <int kPairs>
HWY_INLINE void scale_row_by(const uint8_t* row, const RowWeights& weights, uint8_t* out) {
  using ByteTag = hn::CappedTag<uint8_t, kGroup * kBlock>;
  constexpr ByteTag bytes;
  constexpr ShortTag<ByteTag> shorts;
  constexpr WordTag<ByteTag> words;
  constexpr size_t kStep = hn::MaxLanes(ByteTag()) / kBlock;  // pixels a vector
  constexpr size_t kVectors = kGroup / kStep;
  const int pairs = kPairs ? kPairs : weights.pairs;
  const auto first_pair = hn::LoadDup128(bytes, kFirstPair);
  const auto second_pair = hn::LoadDup128(bytes, kSecondPair);
  const auto dense = hn::Load(hn::Full128<uint8_t>(), kDense);
  const int32_t* halves = weights.halves.data();
  const int32_t* offsets = weights.offsets.data();
  for (int at = 0; at < weights.count; at += kGroup, offsets += kGroup, out += kGroup * 3) {
    WordVector<ByteTag> high[kVectors], low[kVectors];
    for (size_t v = 0; v < kVectors; ++v) high[v] = low[v] = hn::Zero(words);
    auto add_pair = [&](size_t v, hn::Vec<ShortTag<ByteTag> > pixels, const int32_t* own) HWY_ATTR {
      const int32_t* mine = own + v * kStep * kLanes;
      high[v] = add_products<ByteTag>(high[v], pixels, hn::BitCast(shorts, hn::LoadU(words, mine)));
      low[v] = add_products<ByteTag>(low[v], pixels,
                                     hn::BitCast(shorts, hn::LoadU(words, mine + kGroupHalves)));
    };
    for (int pair = 0; pair < pairs; pair += 2) {
      bool has_second = pair + 1 < pairs;
      for (size_t v = 0; v < kVectors; ++v) {
        auto pixels = load_blocks(bytes, row + 6 * size_t(pair), offsets + v * kStep);
        add_pair(v, hn::BitCast(shorts, hn::TableLookupBytesOr0(pixels, first_pair)), halves);
        if (!has_second) continue;
        add_pair(v, hn::BitCast(shorts, hn::TableLookupBytesOr0(pixels, second_pair)),
                 halves + 2 * kGroupHalves);
      }
      halves += (has_second ? 4 : 2) * kGroupHalves;
    }
    for (size_t v = 0; v < kVectors; ++v) high[v] = round_sums<ByteTag>(high[v], low[v]);
    auto values = hn::TableLookupBytesOr0(group_bytes<ByteTag>(high), dense);
    hn::StoreU(values, hn::Full128<uint8_t>(), out);
  }
}

void scale_row_kernel(const uint8_t* row, const RowWeights& weights, uint8_t* out) {
  switch (weights.pairs) {
    case 1:
      return scale_row_by<1>(row, weights, out);
    case 2:
      return scale_row_by<2>(row, weights, out);
    default:
      return scale_row_by<0>(row, weights, out);
  }
}

// As many bytes as a vector has, from `at` on.
template <class ByteTag>
HWY_INLINE void mix_piece(ByteTag bytes, const uint8_t* const* rows, const int32_t* halves,
                          int pairs, size_t at, uint8_t* out) {
  constexpr ShortTag<ByteTag> shorts;
  constexpr WordTag<ByteTag> words;
  constexpr int kParts = 4;  // even and odd bytes, the lower and upper ones of a block
  WordVector<ByteTag> high[kParts], low[kParts];
  for (int part = 0; part < kParts; ++part) high[part] = low[part] = hn::Zero(words);
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

HWY_EXPORT(scale_row_kernel);
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

size_t RowWeights::halves_at(int place) const {
  return size_t(place / kGroup) * size_t(pairs) * 2 * kGroupHalves +
         size_t(place % kGroup) * kLanes;
}

void RowWeights::pack(const ResizeAxis& axis) {
  count = axis.count();
  pairs = (axis.taps + 1) / 2;
  size_t groups = size_t(count + kGroup - 1) / kGroup;
  offsets.assign(groups * kGroup, 0);
  halves.assign(groups * size_t(pairs) * 2 * kGroupHalves, 0);
  for (int k = 0; k < count; ++k) {
    size_t place = size_t(axis.is_reversed ? count - 1 - k : k);
    offsets[place] = 3 * axis.first[size_t(k)];
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

void scale_row(const uint8_t* row, const RowWeights& weights, uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(scale_row_kernel)(row, weights, out);
}

void mix_rows(const uint8_t* const* rows, const int32_t* halves, int pairs, size_t bytes,
              uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(mix_rows_kernel)(rows, halves, pairs, bytes, out);
}

}  // namespace pounce
#endif  // HWY_ONCE
