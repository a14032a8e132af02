// Batches of images, read, decoded and transformed ahead by threads.
//
//   pounce::Loader loader(photos.train(), {.batch_size = 32, .image_size = 64, .shuffle = true});
//   for (const pounce::Batch& batch : loader) std::cout << batch.images << '\n';
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "pounce/dataset.h"
#include "pounce/export.h"
#include "pounce/fit.h"
#include "pounce/tensor.h"

namespace pounce {

struct LoaderState;

struct LoaderOptions {
  int batch_size = 64;           // at most; sizes of an epoch differ by at most one; 1 to 65536
  int image_size = 224;          // pixels, square; 8 to 4096
  double resize_ratio = 0.875;   // without augmentation, as ModelOptions
  Fit fit = Fit::Crop;           // as ModelOptions
  bool shuffle = false;          // a new order every epoch, by seed
  bool augment = false;          // random crop and flips, as below; else the centre crop
  double crop_scale_min = 0.35;  // area of the random crop, share of the image
  double crop_scale_max = 1.0;
  double hflip = 0.5;  // probability of a mirrored image
  double vflip = 0;
  uint64_t seed = 0;
  int workers = 0;  // threads; 0: as many as prove useful. No influence on any byte
};

struct Batch {
  Tensor images;                         // U8 [n, image_size, image_size, 3], on the host
  std::vector<int32_t> labels;           // [n]
  std::vector<std::string> paths;        // [n]
  std::vector<SkippedFileInfo> skipped;  // images it should have had; out of later epochs, too
};

// One epoch after the other: each begin() starts the next one, whose order and augmentation follow
// from the options and the number of the epoch alone. Movable; a moved-from Loader can only be
// assigned or destroyed, anything else throws InvalidArgument.
class POUNCE_API Loader {
 public:
  // Starts the threads. Throws InvalidArgument for options out of range or an empty list.
  Loader(const ImageList& images, const LoaderOptions& options);
  Loader(Loader&&) noexcept;
  Loader& operator=(Loader&&) noexcept;
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;
  ~Loader();

  const ImageList& images() const;
  const LoaderOptions& options() const;
  // Of an epoch in which every image can be used.
  int64_t batches() const;

  // Reads through an epoch, once. Stays valid when the Loader is moved or destroyed; throws
  // InvalidArgument once another epoch was begun.
  class POUNCE_API Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Batch;
    using difference_type = std::ptrdiff_t;
    using pointer = const Batch*;
    using reference = const Batch&;

    // Valid until the iterator moves on. Throw InvalidArgument at the end.
    const Batch& operator*() const;
    const Batch* operator->() const;
    // Rethrows what ImageSource::load threw.
    Iterator& operator++();
    void operator++(int) { ++*this; }
    bool operator==(std::default_sentinel_t) const { return batch_ == nullptr; }

   private:
    friend class Loader;
    std::shared_ptr<LoaderState> state_;
    uint64_t stamp_ = 0;
    std::shared_ptr<const Batch> batch_;
  };

  Iterator begin();
  std::default_sentinel_t end() const { return {}; }

 private:
  friend struct Access;
  std::shared_ptr<LoaderState> state_;
};

}  // namespace pounce
