// How a picture that is not square becomes the square a network sees.
#pragma once

#include <cstdint>

namespace pounce {

enum class Fit : uint8_t {
  Crop,       // scaled by its short side, the centre is cut out; the rest is not seen
  Letterbox,  // scaled by its long side and centred, the rest is black; nothing is cut off
  Stretch     // both sides scaled to the square; nothing is cut off, proportions change
};

}  // namespace pounce
