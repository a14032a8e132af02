#include "data/prepare.h"

#include <algorithm>
#include <cstring>
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

bool may_decode_scaled(int width, int height, const PrepareRule& rule) {
  const Preprocessing& preprocessing = rule.preprocessing;
  if (!is_random_crop(rule.augmentation) || preprocessing.shrink > 0) return false;
  bool fills_the_square = preprocessing.fit != Fit::Letterbox;
  int side = fills_the_square ? std::min(width, height) : std::max(width, height);
  return side / 2 >= preprocessing.image_size;
}

struct Preparer::State {
  PrepareRule rule;
  Image image;   // of formats that are decoded whole
  Image shrunk;  // by the rule's shrink
  bool has_shrunk = false;
  Resizer resizer;
  StageSeconds seconds;

  size_t square_stride() const { return size_t(rule.preprocessing.image_size) * 3; }
  uint8_t* clear_around(const Framing& framing, uint8_t* out) const;
  Result<void> from_jpeg(std::span<const uint8_t> file, const AugmentKey& key, uint8_t* out);
  Result<void> stream(JpegDecoder& decoder, const ResizeTask& task, int denominator,
                      JpegReach reach);
  void square_from_shrunk(const AugmentKey& key, uint8_t* out);
  void square_from(const PixelView& image, const AugmentKey& key, uint8_t* out);
  void vary_pixels(const AugmentKey& key, uint8_t* out) const;
};

// Black where the picture does not reach. The first pixel of where it does.
uint8_t* Preparer::State::clear_around(const Framing& framing, uint8_t* out) const {
  int size = rule.preprocessing.image_size;
  bool is_whole = framing.target.window_width == size && framing.target.window_height == size;
  if (!is_whole) std::memset(out, 0, square_stride() * size_t(size));
  return out + size_t(framing.top) * square_stride() + size_t(framing.left) * 3;
}

Result<void> Preparer::State::from_jpeg(std::span<const uint8_t> file, const AugmentKey& key,
                                        uint8_t* out) {
  StageClock clock;
  JpegDecoder decoder;
  if (Result<void> opened = decoder.open(file); !opened) return opened;
  StoredPicture stored{decoder.width(), decoder.height()};
  const Preprocessing& preprocessing = rule.preprocessing;
  if (preprocessing.exif) stored.orientation = decoder.orientation();
  clock.lap(seconds.decode);
  int width = stored.width, height = stored.height;
  if (stored.orientation >= 5) std::swap(width, height);
  if (is_shrunk(width, height, preprocessing)) {
    Framing whole = frame_shrunk(width, height, preprocessing);
    shrunk.resize(int(whole.target.width), int(whole.target.height));
    // To the end: what a training epoch stores, evaluation must be able to take.
    Result<void> done =
        stream(decoder, resize_task(whole, stored, shrunk.rgb.data(), size_t(shrunk.width) * 3), 1,
               JpegReach::WholeFile);
    if (done) square_from_shrunk(key, out);
    return done;
  }
  Framing framing = frame_picture(width, height, preprocessing, rule.augmentation, key);
  bool may_scale = is_random_crop(rule.augmentation) && preprocessing.shrink == 0;
  if (may_scale) stored.denominator = choose_denominator(framing);
  ResizeTask task = resize_task(framing, stored, clear_around(framing, out), square_stride());
  JpegReach reach = rule.augmentation.enabled ? JpegReach::Window : JpegReach::WholeFile;
  Result<void> done = stream(decoder, task, stored.denominator, reach);
  if (done) vary_pixels(key, out);
  return done;
}

Result<void> Preparer::State::stream(JpegDecoder& decoder, const ResizeTask& task, int denominator,
                                     JpegReach reach) {
  StageClock clock;
  resizer.begin(task);
  clock.lap(seconds.transform);
  CropBox window{resizer.left(), resizer.top(), resizer.width(), resizer.height()};
  Result<void> started = decoder.start(denominator, window, reach);
  clock.lap(seconds.decode);
  while (started) {
    Result<JpegDecoder::Rows> rows = decoder.next_rows();
    clock.lap(seconds.decode);
    if (!rows) return tl::make_unexpected(rows.error());
    if (rows->count == 0) break;
    resizer.push_rows(rows->first, rows->stride, rows->count);
    clock.lap(seconds.transform);
  }
  return started;
}

void Preparer::State::square_from_shrunk(const AugmentKey& key, uint8_t* out) {
  has_shrunk = true;
  square_from(shrunk, key, out);
}

void Preparer::State::square_from(const PixelView& picture, const AugmentKey& key, uint8_t* out) {
  StageClock clock;
  StoredPicture stored{picture.width, picture.height};
  Framing framing =
      frame_picture(picture.width, picture.height, rule.preprocessing, rule.augmentation, key);
  resizer.begin(resize_task(framing, stored, clear_around(framing, out), square_stride()));
  resizer.push_picture(picture);
  vary_pixels(key, out);
  clock.lap(seconds.transform);
}

void Preparer::State::vary_pixels(const AugmentKey& key, uint8_t* out) const {
  const Augmentation& augmentation = rule.augmentation;
  if (!augmentation.enabled) return;
  int size = rule.preprocessing.image_size;
  if (augmentation.color_jitter > 0) {
    jitter_colors(out, int64_t(size) * size, augmentation.color_jitter, key);
  }
  if (augmentation.erasing > 0) {
    erase_rectangle(out, size, augmentation.erasing, augmentation.erasing_color, key);
  }
}

Preparer::Preparer(PrepareRule rule) : state_(std::make_unique<State>()) {
  state_->rule = rule;
}

Preparer::Preparer(Preparer&&) noexcept = default;
Preparer& Preparer::operator=(Preparer&&) noexcept = default;
Preparer::~Preparer() = default;

Result<void> Preparer::from_bytes(std::span<const uint8_t> file, const AugmentKey& key,
                                  uint8_t* out) {
  state_->has_shrunk = false;
  bool is_jpeg = sniff_format(file.first(std::min<size_t>(file.size(), 32))) == ImageFormat::Jpeg;
  Result<void> done;
  if (is_jpeg) {
    done = state_->from_jpeg(file, key, out);
  } else {
    StageClock clock;
    done = decode_image(file, state_->image, {.exif = state_->rule.preprocessing.exif});
    clock.lap(state_->seconds.decode);
    if (done) from_pixels(state_->image, key, out);
  }
  if (!done && done.error().kind() == ErrorKind::OutOfMemory) throw done.error();
  return done;
}

void Preparer::from_pixels(const PixelView& image, const AugmentKey& key, uint8_t* out) {
  const Preprocessing& rule = state_->rule.preprocessing;
  state_->has_shrunk = false;
  if (!is_shrunk(image.width, image.height, rule)) return state_->square_from(image, key, out);
  StageClock clock;
  shrink_picture(image, rule, state_->resizer, state_->shrunk);
  clock.lap(state_->seconds.transform);
  state_->square_from_shrunk(key, out);
}

const Image* Preparer::reduced() const {
  return state_->has_shrunk ? &state_->shrunk : nullptr;
}

const PrepareRule& Preparer::rule() const {
  return state_->rule;
}

const StageSeconds& Preparer::seconds() const {
  return state_->seconds;
}

}  // namespace pounce
