// Decoded images to the square the network sees: Pillow's antialiased bilinear resize,
// torchvision's geometry, and augmentation whose random numbers depend on (seed, epoch, image)
// alone.
#pragma once

#include <cstdint>
#include <vector>

#include "data/decode.h"
#include "data/resize.h"

namespace pounce {

// The evaluation rule, stored in the model file: short side to int(image_size / resize_ratio), then
// the centre square (torchvision's Resize and CenterCrop on PIL images).
struct Preprocessing {
  int image_size = 224;
  double resize_ratio = 0.875;
  bool exif = true;  // the orientation of EXIF is applied
};

struct Augmentation {
  bool enabled = true;                     // false: the evaluation rule for training images, too
  double crop_min = 0.35, crop_max = 1.0;  // share of the area, torchvision's RandomResizedCrop
  double hflip = 0.5, vflip = 0.0;         // probabilities
  bool random_crop = true;                 // false: the evaluation rule's crop, then the flips
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

// What identifies the random numbers of one image in one epoch.
struct AugmentKey {
  uint64_t seed = 0;
  uint32_t epoch = 0;
  uint64_t id = 0;          // Sample::id
  uint32_t occurrence = 0;  // the how-manieth time the image comes in this epoch, from 0
};

// torchvision's RandomResizedCrop.get_params with our random numbers, then the flips.
struct AugmentChoice {
  CropBox box;
  bool hflip = false, vflip = false;
};
AugmentChoice choose_augmentation(int width, int height, const Augmentation& augmentation,
                                  const AugmentKey& key);

// Which part of the picture, as it stands upright, becomes the square.
struct Framing {
  CropBox box;
  ResizeTarget target;
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
// The resize that makes of the stored picture what `framing` wants of the upright one.
ResizeTask resize_task(const Framing& framing, const StoredPicture& stored, uint8_t* out);

}  // namespace pounce
