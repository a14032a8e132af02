#include "data/prepare.h"

#include "base/system.h"

namespace pounce {

struct Preparer::State {
  PrepareRule rule;
  Image image;
  ResizeScratch scratch;
  StageSeconds seconds;
};

bool may_decode_scaled(int, int, const PrepareRule&) {
  return false;
}

Preparer::Preparer(PrepareRule rule) : state_(std::make_unique<State>()) {
  state_->rule = rule;
}

Preparer::Preparer(Preparer&&) noexcept = default;
Preparer& Preparer::operator=(Preparer&&) noexcept = default;
Preparer::~Preparer() = default;

Result<void> Preparer::from_bytes(std::span<const uint8_t> file, const AugmentKey& key,
                                  uint8_t* out) {
  double start = monotonic_seconds();
  Result<void> decoded =
      decode_image(file, state_->image, {.exif = state_->rule.preprocessing.exif});
  state_->seconds.decode += monotonic_seconds() - start;
  if (!decoded) {
    if (decoded.error().kind() == ErrorKind::OutOfMemory) throw decoded.error();
    return decoded;
  }
  from_pixels(state_->image, key, out);
  return {};
}

void Preparer::from_pixels(const PixelView& image, const AugmentKey& key, uint8_t* out) {
  double start = monotonic_seconds();
  const PrepareRule& rule = state_->rule;
  apply_augmentation(image, rule.augmentation, rule.preprocessing, key, state_->scratch, out);
  state_->seconds.transform += monotonic_seconds() - start;
}

const PrepareRule& Preparer::rule() const {
  return state_->rule;
}

const StageSeconds& Preparer::seconds() const {
  return state_->seconds;
}

}  // namespace pounce
