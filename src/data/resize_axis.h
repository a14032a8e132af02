// One axis of an antialiased bilinear resize: which source pixels each result pixel mixes, and by
// which weights. The same fixed-point weights as Pillow's BILINEAR, so that results equal Pillow's.
#pragma once

#include <cstdint>
#include <vector>

namespace pounce {

// `length` pixels of a line, from `begin` on, become `scaled` pixels, of which `count` from `first`
// on are wanted. `begin` and `length` may have fractions: a box in a picture decoded smaller.
struct AxisTask {
  double begin = 0, length = 0;
  int64_t scaled = 0;
  int64_t first = 0;
  int count = 0;
  bool is_mirrored = false;  // the line runs backwards: result 0 lies at its end
  bool flip = false;         // the wanted pixels in reverse
};

// Pillow's fixed point: 8 bits of pixel and 2 of headroom leave 22 in an int32.
constexpr int kWeightBits = 32 - 8 - 2;

struct ResizeAxis {
  int begin = 0, end = 0;  // source pixels that have a weight
  int taps = 0;            // weights a result pixel
  // Entries in the order of the source: what they mix begins ever further on.
  std::vector<int32_t> first;    // [count], source pixel of the first weight, counted from `begin`
  std::vector<int32_t> weights;  // [count, taps], not negative, their sum is 1 << kWeightBits but
                                 // for rounding
  bool is_reversed = false;      // entry k is result count-1-k

  int count() const { return int(first.size()); }
  // Reuses the memory of the vectors.
  void compute(const AxisTask& task);

 private:
  std::vector<double> raw_;  // weights of one result pixel before rounding
};

}  // namespace pounce
