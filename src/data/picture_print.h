// Recognises a picture that was encoded again, resized or mirrored: a hash of its coarse structure
// finds candidates, a small grey picture confirms them. Colours and fine detail do not count.
// Source of the hash: Zauner 2010, "Implementation and benchmarking of perceptual image hash
// functions" (the DCT hash). Internal to src/data and src/train.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "data/decode.h"

namespace pounce {

struct PicturePrint {
  static constexpr int kSide = 16;
  uint64_t hash = 0, mirrored_hash = 0;       // of the picture, and of its mirror image
  std::array<uint8_t, kSide * kSide> grey{};  // averages over equal parts, row by row
  float aspect = 1;                           // width / height
};

// `image`: as decode_image gives it; at least one pixel.
PicturePrint make_print(const PixelView& image);

// Whether there is more to see than a plain area, whose hash is noise.
bool has_structure(const PicturePrint& print);

enum class Likeness { Different, Same, Mirrored };

// Whether both are prints of one picture. Pictures without structure (a plain area) are like
// nothing.
Likeness compare_prints(const PicturePrint& a, const PicturePrint& b);

// Finds hashes within a few bits of another without looking at all of them.
class HashSearch {
 public:
  // `hashes` are borrowed.
  explicit HashSearch(std::span<const uint64_t> hashes);

  // All that differ in at most 7 bits are found, those of 8 or more are not. In any order; one may
  // come several times.
  void for_each_near(uint64_t hash, const std::function<void(uint32_t index)>& take) const;

 private:
  static constexpr int kBands = 4, kBandBits = 16, kMostBits = 7;
  std::span<const uint64_t> hashes_;
  // Of a band: the indices sorted by its 16 bits, and where each value begins.
  std::array<std::vector<uint32_t>, kBands> begins_, indices_;
};

}  // namespace pounce
