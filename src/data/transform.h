// Decoded images to the square the network sees: Pillow's antialiased bilinear resize,
// torchvision's geometry, and augmentation whose random numbers depend on (seed, epoch, image)
// alone.
#pragma once

#include <array>
#include <cstdint>

#include "data/decode.h"
#include "data/pixel_augment.h"
#include "data/resize.h"
#include "pounce/fit.h"

namespace pounce {

// The evaluation rule, stored in the model file. Fit::Crop: short side to int(image_size /
// resize_ratio), then the centre square (torchvision's Resize and CenterCrop on PIL images). The
// other fits show the whole picture and know no resize_ratio.
struct Preprocessing {
  int image_size = 224;
  double resize_ratio = 0.875;
  bool exif = true;  // the orientation of EXIF is applied
  Fit fit = Fit::Crop;
  // Above 0: pictures whose short side is longer are first reduced to that, rounded to bytes; and
  // every picture is decoded at full size, so that what a cache keeps of it serves every crop.
  int shrink = 0;
};

// In this order: crop, flips, colours, erasing. Only the first two are drawn from one stream, so
// turning the others on or off changes neither.
struct Augmentation {
  bool enabled = true;                     // false: the evaluation rule for training images, too
  double crop_min = 0.35, crop_max = 1.0;  // share of the area, torchvision's RandomResizedCrop
  double hflip = 0.5, vflip = 0.0;         // probabilities
  bool random_crop = true;                 // false: the evaluation rule's crop, then the flips
  double color_jitter = 0;                 // brightness, contrast, saturation by 1-x to 1+x; 0 to 1
  double erasing = 0;                      // probability that a rectangle is erased
  std::array<uint8_t, 3> erasing_color = {124, 116, 104};  // the mean of what networks see
};

// A rectangle of source pixels.
struct CropBox {
  int left = 0, top = 0, width = 0, height = 0;
};

struct ResizeTarget {
  int64_t width = 0, height = 0;  // what the box is scaled to
  int64_t left = 0, top = 0;      // the window of that which is wanted
  int window_width = 0, window_height = 0;
  bool hflip = false, vflip = false;  // of the window
};

// Scales `box` of `image` as Pillow's crop(box).resize((width, height), BILINEAR) and writes the
// window, [window_height, window_width, 3], to `out`: the same bytes as Pillow. Only the pixels the
// window needs are computed. The box lies in the image and the window in the scaled box.
void resize_box(const PixelView& image, const CropBox& box, const ResizeTarget& target,
                Resizer& resizer, uint8_t* out);

// torchvision's RandomResizedCrop.get_params with our random numbers, then the flips.
struct AugmentChoice {
  CropBox box;
  bool hflip = false, vflip = false;
};
// With Fit::Letterbox and Fit::Stretch the ratio of the box is drawn around the picture's own and
// not around 1, so that training sees the bars, or the proportions, that evaluation sees.
AugmentChoice choose_augmentation(int width, int height, const Augmentation& augmentation,
                                  const AugmentKey& key, Fit fit = Fit::Crop);

// Which part of the picture, as it stands upright, goes where in the square.
struct Framing {
  CropBox box;
  ResizeTarget target;
  int left = 0, top = 0;  // of the target's window in the square; the rest is black
};
// By the evaluation rule, or by augmentation where it is enabled. Pure.
Framing frame_picture(int width, int height, const Preprocessing& rule,
                      const Augmentation& augmentation, const AugmentKey& key);

// A picture as its file stores it.
struct StoredPicture {
  int width = 0, height = 0;
  int orientation = 1;  // EXIF
  int denominator = 1;  // decoded at 1/denominator of that size
};
// The resize that makes of the stored picture what `framing` wants of the upright one. `out`: the
// window's first pixel; `stride`: bytes from row to row.
ResizeTask resize_task(const Framing& framing, const StoredPicture& stored, uint8_t* out,
                       size_t stride);

// Whether the rule reduces a picture of this size before anything else, so that its short side
// becomes rule.shrink; and by what resize.
bool is_shrunk(int width, int height, const Preprocessing& rule);
struct PictureSize {
  int width = 0, height = 0;
};
// What the rule leaves of a picture of this size: itself, or the reduced one.
PictureSize shrunk_size(int width, int height, const Preprocessing& rule);
Framing frame_shrunk(int width, int height, const Preprocessing& rule);
// The reduced picture, which later calls leave as it is. `image` is_shrunk().
void shrink_picture(const PixelView& image, const Preprocessing& rule, Resizer& resizer,
                    Image& shrunk);

}  // namespace pounce
