// One JPEG, row by row: the whole picture or a window of it, at full size or reduced. Nothing but
// the rows at hand lies in memory, unless the file stores the picture in several passes.
// Internal to src/data.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "data/transform.h"

namespace pounce {

// How far a file is read, and so checked for damage.
enum class JpegReach {
  Window,    // to the last row of the window; to the end where that is the last row of the picture
  WholeFile  // to the end marker; rows outside of the window are read but not made into pixels
};

class JpegDecoder {
 public:
  JpegDecoder();
  JpegDecoder(const JpegDecoder&) = delete;
  JpegDecoder& operator=(const JpegDecoder&) = delete;
  ~JpegDecoder();

  // Reads the header of the file in `bytes`, which must outlive the decoder. Once a decoder.
  Result<void> open(std::span<const uint8_t> bytes);
  // As stored.
  int width() const;
  int height() const;
  // EXIF, 1..8.
  int orientation() const;

  // Begins to decode at 1/denominator (1, 2, 4 or 8) of the size the rows and columns of `window`,
  // which lies in the picture of ceil(width / denominator) x ceil(height / denominator). The pixels
  // are those the whole picture would have there. Reads all passes of a file that has several.
  Result<void> start(int denominator, const CropBox& window, JpegReach reach);

  // Rows of the window in order, `stride` bytes apart, each window.width pixels RGB and at least
  // kRowPadding bytes more that may be read. Valid until the next call. count is 0 at the end, and
  // only then has everything been checked that `reach` asks for.
  struct Rows {
    const uint8_t* first = nullptr;
    size_t stride = 0;
    int count = 0;
  };
  Result<Rows> next_rows();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace pounce
