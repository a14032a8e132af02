#include "data/resize.h"

#include <algorithm>
#include <cstring>

#include <hwy/cache_control.h>

#include "base/error.h"

namespace pounce {
namespace {

constexpr size_t kCacheLine = 64;
constexpr size_t kRowsAhead = 4;

}  // namespace

void Resizer::begin(const ResizeTask& task) {
  task_ = task;
  x_.compute(task.x);
  y_.compute(task.y);
  row_weights_.pack(x_);
  column_weights_.pack(y_);
  // Pillow scales along upright rows first and rounds to bytes between; a transposed picture has
  // its upright rows across the stored ones.
  row_bytes_ = size_t(task.is_transposed ? width() : x_.count()) * 3;
  ring_stride_ = row_bytes_ + kScaledPadding;
  // Those that a result mixes, and the last of them may come with others.
  ring_rows_ = y_.taps + kRowsTogether - 1;
  ring_.resize(size_t(ring_rows_) * ring_stride_);
  taps_.resize(size_t(column_weights_.pairs) * 2);
  if (task.is_transposed) {
    mixed_.resize(row_bytes_ + kRowPadding);
    scaled_.resize(size_t(x_.count()) * 3 + kScaledPadding);
  }
  pushed_ = emitted_ = 0;
}

void Resizer::push_rows(const uint8_t* first, size_t stride, int count) {
  POUNCE_ASSERT(count <= height() - pushed_);
  while (count > 0) {
    const int rows = std::min(count, kRowsTogether);
    const uint8_t* from[kRowsTogether];
    uint8_t* to[kRowsTogether];
    for (int i = 0; i < rows; ++i, first += stride) {
      from[i] = first;
      to[i] = ring_row(pushed_ + i);
      if (task_.is_transposed) std::memcpy(to[i], first, row_bytes_);
    }
    if (!task_.is_transposed) scale_rows(from, rows, row_weights_, to);
    pushed_ += rows;
    count -= rows;
    emit_ready();
  }
}

void Resizer::emit_ready() {
  while (emitted_ < y_.count() && y_.first[size_t(emitted_)] + y_.taps <= pushed_) emit();
}

void Resizer::push_picture(const PixelView& picture) {
  size_t stride = size_t(picture.width) * 3, needed = size_t(width()) * 3;
  const uint8_t* end = picture.rgb + size_t(picture.height) * stride;
  for (int y = top(); y < y_.end; ++y) {
    const uint8_t* row = picture.rgb + size_t(y) * stride + size_t(left()) * 3;
    // Row by row, for memory is what takes the time here; the processor foresees lines of a row but
    // not the jump to the next.
    const uint8_t* ahead = row + kRowsAhead * stride;
    for (size_t at = 0; at < needed && y + int(kRowsAhead) < y_.end; at += kCacheLine) {
      hwy::Prefetch(ahead + at);
    }
    if (size_t(end - row) < needed + kRowPadding) {
      padded_.assign(row, row + needed);
      padded_.resize(needed + kRowPadding);
      row = padded_.data();
    }
    push_rows(row, stride, 1);
  }
}

void Resizer::emit() {
  int first = y_.first[size_t(emitted_)];
  for (size_t t = 0; t < taps_.size(); ++t) {
    // An odd number of taps has one more, of weight 0.
    int source = first + std::min(int(t), y_.taps - 1);
    taps_[t] = ring_row(source);
  }
  int pairs = column_weights_.pairs;
  const int32_t* halves = &column_weights_.halves[size_t(emitted_) * size_t(pairs) * 2];
  size_t place = size_t(y_.is_reversed ? y_.count() - 1 - emitted_ : emitted_);
  ++emitted_;
  if (!task_.is_transposed) {
    mix_rows(taps_.data(), halves, pairs, row_bytes_, task_.out + place * task_.stride);
    return;
  }
  mix_rows(taps_.data(), halves, pairs, row_bytes_, mixed_.data());
  const uint8_t* from = mixed_.data();
  uint8_t* to = scaled_.data();
  scale_rows(&from, 1, row_weights_, &to);
  uint8_t* out = task_.out + place * 3;
  for (int i = 0; i < x_.count(); ++i, out += task_.stride) {
    std::memcpy(out, &scaled_[size_t(i) * 3], 3);
  }
}

}  // namespace pounce
