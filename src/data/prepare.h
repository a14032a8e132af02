// From the bytes of an image file, or its decoded pixels, to the square the network sees: decode,
// crop, resize, flip. Everything that trains, evaluates or predicts goes through here. One Preparer
// a thread; the same input gives the same bytes in every thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "data/transform.h"

namespace pounce {

struct PrepareRule {
  Preprocessing preprocessing{};
  Augmentation augmentation{};  // not enabled: evaluation
};

// What the stages took, in seconds of the thread's clock.
struct StageSeconds {
  double read = 0, decode = 0, transform = 0;
};

// Whether some crop of a JPEG of this size (as it stands upright) would be decoded at a reduced
// scale, so that its full pixels would give other bytes. Never under a rule that shrinks. Pure.
bool may_decode_scaled(int width, int height, const PrepareRule& rule);

class Preparer {
 public:
  explicit Preparer(PrepareRule rule);
  Preparer(Preparer&&) noexcept;
  Preparer& operator=(Preparer&&) noexcept;
  ~Preparer();

  // Writes [image_size, image_size, 3] to `out`, whose content is unspecified on error. `key`
  // matters for augmentation alone. Kinds BadData and Unsupported; throws OutOfMemory, which says
  // nothing about the file.
  Result<void> from_bytes(std::span<const uint8_t> file, const AugmentKey& key, uint8_t* out);
  // The same bytes from pixels that decode_image gave by the same EXIF rule, unless
  // may_decode_scaled() of their size; and from those that shrink_picture made of them. A file that
  // is damaged outside of what a crop needs gives no pixels, though from_bytes may take it.
  void from_pixels(const PixelView& image, const AugmentKey& key, uint8_t* out);

  // The reduced picture from which the last call made its square: from_pixels makes the same of it.
  // nullptr where that call failed, or the picture was small enough. Valid until the next call.
  const Image* reduced() const;

  const PrepareRule& rule() const;
  // Sums over all calls so far; `read` stays 0.
  const StageSeconds& seconds() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace pounce
