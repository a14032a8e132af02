// Decoded images to the square the network sees: Pillow's antialiased bilinear resize,
// torchvision's geometry, and augmentation whose random numbers depend on (seed, epoch, image)
// alone.
#pragma once

#include <cstdint>
#include <vector>

#include "data/decode.h"

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

// Working memory of resize: grows to the largest image met, then nothing is allocated. One a
// thread.
struct ResizeScratch {
  struct Axis {
    int taps = 0;                  // weights a result pixel
    std::vector<int32_t> first;    // first source pixel of each result pixel
    std::vector<int32_t> weights;  // [result, taps], fixed point
  };
  Axis horizontal, vertical;
  std::vector<uint8_t> rows;      // between the passes
  std::vector<uint8_t> last_row;  // of the image, and one byte
  std::vector<double> raw;        // weights of one result pixel before rounding
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
                ResizeScratch& scratch, uint8_t* out);

// The evaluation rule: image to `out`, [image_size, image_size, 3].
void apply_preprocessing(const PixelView& image, const Preprocessing& rule, ResizeScratch& scratch,
                         uint8_t* out);

// What identifies the random numbers of one image in one epoch.
struct AugmentKey {
  uint64_t seed = 0;
  uint32_t epoch = 0;
  uint64_t id = 0;          // Sample::id
  uint32_t occurrence = 0;  // the how-manieth time the image comes in this epoch, from 0
};

// Random resized crop and flips; the evaluation rule when disabled.
void apply_augmentation(const PixelView& image, const Augmentation& augmentation,
                        const Preprocessing& rule, const AugmentKey& key, ResizeScratch& scratch,
                        uint8_t* out);

// torchvision's RandomResizedCrop.get_params with our random numbers, then the flips.
struct AugmentChoice {
  CropBox box;
  bool hflip = false, vflip = false;
};
AugmentChoice choose_augmentation(int width, int height, const Augmentation& augmentation,
                                  const AugmentKey& key);

}  // namespace pounce
