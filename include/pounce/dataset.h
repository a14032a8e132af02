// Labelled images: of a folder, or of a source of one's own.
//
//   pounce::Dataset photos("photos");
//   pounce::Loader train(photos.train(), {.augment = true});
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "pounce/export.h"
#include "pounce/train.h"

namespace pounce {

struct ImageListState;

// What a source gives for one image: pixels, or the bytes of an image file.
struct SourceImage {
  int width = 0;  // of the pixels
  int height = 0;
  std::vector<uint8_t> pixels;  // [height, width, 3], RGB
  std::vector<uint8_t> file;    // used where pixels is empty
};

// Derive from it to train on images that are not files of a folder.
class POUNCE_API ImageSource {
 public:
  virtual ~ImageSource();

  // These are asked once, when a Dataset is made.
  virtual int64_t size() const = 0;
  virtual std::vector<std::string> classes() const = 0;  // in label order
  virtual int label(int64_t index) const = 0;            // into classes()
  // Names the image in messages and decides its place in the shuffled order and its augmentation;
  // unique. Default: "image <index>".
  virtual std::string name(int64_t index) const;

  // Called from the loader's threads, several at a time. A thrown pounce::Error of kind BadData,
  // Io or Unsupported, and pixels or a file that are damaged, leave the image out of this and later
  // epochs: the batch is one smaller and says so. Any other exception ends the epoch and reaches
  // whoever asked for the batch.
  virtual SourceImage load(int64_t index) const = 0;
};

// Images with labels, in a fixed order. Immutable; copies share. A default-constructed or
// moved-from one is empty: it can be assigned and destroyed, anything else throws InvalidArgument.
class POUNCE_API ImageList {
 public:
  ImageList() = default;

  int64_t size() const;
  const std::vector<std::string>& classes() const;
  // index: 0 to size() - 1; else InvalidArgument.
  int label(int64_t index) const;
  // Relative to the folder; a source's name.
  std::string path(int64_t index) const;
  // images / (classes * images of the class), by label: rare classes weigh more, the mean over the
  // images is 1.
  std::vector<double> balanced_class_weights() const;

 private:
  friend struct Access;
  std::shared_ptr<const ImageListState> state_;
};

struct DatasetOptions {
  double val_fraction = 0.2;  // held back where the folder has no validation part; 0 to 0.9
  BadFilePolicy on_bad = BadFilePolicy::Auto;
  int workers = 0;  // threads of the scan; 0: as many as there are cores
};

// Immutable; copies share. A moved-from one as ImageList.
class POUNCE_API Dataset {
 public:
  // Scans the folder as `pounce train` does: the same parts, classes, split rule and refusals.
  // Reads the header of every file, or of those that have changed since an index of them was left
  // in the cache folder (docs/data.md). Throws Config, Io, BadData.
  explicit Dataset(const std::string& folder, const DatasetOptions& options = {});
  // Parts of one's own; a null part is empty. Throws InvalidArgument where `train` is null, classes
  // are less than 2, empty or differ between parts, a label is not one of them, or a name repeats.
  explicit Dataset(std::shared_ptr<const ImageSource> train,
                   std::shared_ptr<const ImageSource> val = nullptr,
                   std::shared_ptr<const ImageSource> test = nullptr);

  const std::vector<std::string>& classes() const;
  // May have no images, but the first.
  ImageList train() const;
  ImageList val() const;
  ImageList test() const;
  // Files that cannot be used, by the scan.
  const std::vector<SkippedFileInfo>& skipped() const;
  // What the scan decided, as sentences.
  const std::vector<std::string>& notes() const;

 private:
  struct Parts;
  std::shared_ptr<const Parts> parts_;
  const Parts& parts() const;
};

}  // namespace pounce
