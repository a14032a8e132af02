// An antialiased bilinear resize of a stream of rows: each row is used as it comes, and a result
// row leaves as soon as the rows it mixes were there. So no picture needs to lie in memory. The
// same bytes as Pillow's crop(box).resize(size, BILINEAR) on the picture as it stands upright.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "data/decode.h"
#include "data/resize_axis.h"
#include "data/resize_kernels.h"

namespace pounce {

// What to make of a picture as it is stored.
struct ResizeTask {
  AxisTask x, y;  // along the stored rows, and across them
  // The results are transposed: `x` counts result rows, `y` pixels of them. EXIF orientations 5-8.
  bool is_transposed = false;
  uint8_t* out = nullptr;
  size_t stride = 0;  // bytes from result row to result row
};

// Reused from picture to picture: memory grows to the largest, then nothing is allocated.
class Resizer {
 public:
  void begin(const ResizeTask& task);
  // The source pixels that are needed.
  int left() const { return x_.begin; }
  int width() const { return x_.end - x_.begin; }
  int top() const { return y_.begin; }
  int height() const { return y_.end - y_.begin; }
  // The next `count` of the rows from top() on, from their pixel left() on, `stride` bytes apart;
  // kRowPadding bytes behind the last pixel may be read. Rows are not kept.
  void push_rows(const uint8_t* first, size_t stride, int count);
  // All of them, from a whole picture.
  void push_picture(const PixelView& picture);

 private:
  uint8_t* ring_row(int row) { return &ring_[size_t(row % ring_rows_) * ring_stride_]; }

  void emit_ready();
  void emit();

  ResizeTask task_{};
  ResizeAxis x_, y_;
  RowWeights row_weights_;
  ColumnWeights column_weights_;
  std::vector<uint8_t> ring_;         // the last rows, [ring_rows_, ring_stride_]
  std::vector<const uint8_t*> taps_;  // the rows of one result
  std::vector<uint8_t> mixed_, scaled_, padded_;
  size_t ring_stride_ = 0, row_bytes_ = 0;
  int ring_rows_ = 0;
  int pushed_ = 0;  // rows so far
  int emitted_ = 0;
};

}  // namespace pounce
