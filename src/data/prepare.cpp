#include "data/prepare.h"

#include <algorithm>
#include <utility>

#include "base/system.h"
#include "data/jpeg_decoder.h"

namespace pounce {

namespace {

// Only these have fast inverse transforms in libjpeg-turbo; the others cost more than they save.
constexpr int kDenominators[] = {8, 4, 2};

// Largest first: as small as leaves the crop no smaller than what is made of it.
int choose_denominator(const Framing& framing) {
  for (int denominator : kDenominators) {
    if (framing.box.width >= framing.target.width * denominator &&
        framing.box.height >= framing.target.height * denominator) {
      return denominator;
    }
  }
  return 1;
}

// Adds the time since the last lap to a sum.
class StageClock {
 public:
  void lap(double& sum) {
    double now = monotonic_seconds();
    sum += now - last_;
    last_ = now;
  }

 private:
  double last_ = monotonic_seconds();
};

bool is_random_crop(const Augmentation& augmentation) {
  return augmentation.enabled && augmentation.random_crop;
}

}  // namespace

struct Preparer::State {
  PrepareRule rule;
  Image image;
  Resizer resizer;
  StageSeconds seconds;

  Result<void> from_jpeg(std::span<const uint8_t> file, const AugmentKey& key, uint8_t* out);
  Result<void> decode(std::span<const uint8_t> file);
};

Result<void> Preparer::State::decode(std::span<const uint8_t> file) {
  StageClock clock;
  Result<void> decoded = decode_image(file, image, {.exif = rule.preprocessing.exif});
  clock.lap(seconds.decode);
  return decoded;
}

bool may_decode_scaled(int width, int height, const PrepareRule& rule) {
  return is_random_crop(rule.augmentation) &&
         std::min(width, height) / 2 >= rule.preprocessing.image_size;
}

Result<void> Preparer::State::from_jpeg(std::span<const uint8_t> file, const AugmentKey& key,
                                        uint8_t* out) {
  StageClock clock;
  JpegDecoder decoder;
  if (Result<void> opened = decoder.open(file); !opened) return opened;
  StoredPicture stored{decoder.width(), decoder.height()};
  if (rule.preprocessing.exif) stored.orientation = decoder.orientation();
  clock.lap(seconds.decode);
  int width = stored.width, height = stored.height;
  if (stored.orientation >= 5) std::swap(width, height);
  Framing framing = frame_picture(width, height, rule.preprocessing, rule.augmentation, key);
  if (is_random_crop(rule.augmentation)) stored.denominator = choose_denominator(framing);
  resizer.begin(resize_task(framing, stored, out));
  clock.lap(seconds.transform);
  CropBox window{resizer.left(), resizer.top(), resizer.width(), resizer.height()};
  JpegReach reach = rule.augmentation.enabled ? JpegReach::Window : JpegReach::WholeFile;
  Result<void> started = decoder.start(stored.denominator, window, reach);
  clock.lap(seconds.decode);
  while (started) {
    Result<JpegDecoder::Rows> rows = decoder.next_rows();
    clock.lap(seconds.decode);
    if (!rows) return tl::make_unexpected(rows.error());
    if (rows->count == 0) break;
    for (int i = 0; i < rows->count; ++i) resizer.push_row(rows->first + size_t(i) * rows->stride);
    clock.lap(seconds.transform);
  }
  return started;
}

Preparer::Preparer(PrepareRule rule) : state_(std::make_unique<State>()) {
  state_->rule = rule;
}

Preparer::Preparer(Preparer&&) noexcept = default;
Preparer& Preparer::operator=(Preparer&&) noexcept = default;
Preparer::~Preparer() = default;

Result<void> Preparer::from_bytes(std::span<const uint8_t> file, const AugmentKey& key,
                                  uint8_t* out) {
  bool is_jpeg = sniff_format(file.first(std::min<size_t>(file.size(), 32))) == ImageFormat::Jpeg;
  Result<void> done = is_jpeg ? state_->from_jpeg(file, key, out) : state_->decode(file);
  if (done && !is_jpeg) from_pixels(state_->image, key, out);
  if (!done && done.error().kind() == ErrorKind::OutOfMemory) throw done.error();
  return done;
}

void Preparer::from_pixels(const PixelView& image, const AugmentKey& key, uint8_t* out) {
  StageClock clock;
  const PrepareRule& rule = state_->rule;
  Framing framing =
      frame_picture(image.width, image.height, rule.preprocessing, rule.augmentation, key);
  resize_box(image, framing.box, framing.target, state_->resizer, out);
  clock.lap(state_->seconds.transform);
}

const PrepareRule& Preparer::rule() const {
  return state_->rule;
}

const StageSeconds& Preparer::seconds() const {
  return state_->seconds;
}

}  // namespace pounce
