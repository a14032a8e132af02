#include "pounce/dataset.h"

#include <algorithm>
#include <unordered_map>

#include "api/image_list.h"
#include "base/cache_folder.h"
#include "base/checksum.h"
#include "data/decode.h"
#include "train/defaults.h"

namespace pounce {
namespace {

void check_classes(const std::vector<std::string>& classes) {
  if (classes.size() < 2) {
    fail(ErrorKind::InvalidArgument, "a source has {} classes, expected 2 or more", classes.size());
  }
  for (const std::string& name : classes) {
    if (name.empty()) fail(ErrorKind::InvalidArgument, "a class of a source has no name");
  }
}

std::shared_ptr<ImageListState> read_source(std::shared_ptr<const ImageSource> source) {
  auto list = std::make_shared<ImageListState>();
  list->classes = source->classes();
  check_classes(list->classes);
  int64_t size = source->size();
  if (size < 0 || size > INT32_MAX) {
    fail(ErrorKind::InvalidArgument, "a source has {} images, expected 0 to {}", size, INT32_MAX);
  }
  std::unordered_map<uint64_t, int64_t> first;
  for (int64_t i = 0; i < size; ++i) {
    Sample sample;
    sample.path = source->name(i);
    sample.label = source->label(i);
    sample.id = xxh3_64(sample.path);
    if (sample.label < 0 || size_t(sample.label) >= list->classes.size()) {
      fail(ErrorKind::InvalidArgument, "{}: label {}, expected 0 to {}", sample.path, sample.label,
           list->classes.size() - 1);
    }
    auto [known, is_new] = first.emplace(sample.id, i);
    if (!is_new) {
      fail(ErrorKind::InvalidArgument,
           "images {} and {} of a source are both called \"{}\", expected unique names",
           known->second, i, sample.path);
    }
    list->samples.push_back(sample);
  }
  list->source = std::move(source);
  return list;
}

// Into an image whose memory is reused.
Result<void> take_pixels(SourceImage&& given, Image& image) {
  if (given.pixels.empty()) return decode_image(given.file, image);
  int64_t pixels = int64_t(given.width) * given.height;
  if (given.width < 1 || given.height < 1 || int64_t(given.pixels.size()) != 3 * pixels) {
    return tl::make_unexpected(
        Error(ErrorKind::BadData, fmt::format("{} x {} pixels of 3 bytes were said, {} bytes given",
                                              given.width, given.height, given.pixels.size())));
  }
  image.width = given.width;
  image.height = given.height;
  image.rgb = std::move(given.pixels);
  return {};
}

bool is_about_image(const Error& error) {
  return error.kind() == ErrorKind::BadData || error.kind() == ErrorKind::Io ||
         error.kind() == ErrorKind::Unsupported;
}

// `index` as a place in the list.
size_t checked_index(const ImageListState& list, int64_t index) {
  if (index < 0 || size_t(index) >= list.samples.size()) {
    fail(ErrorKind::InvalidArgument, "image {} of {} was asked for", index, list.samples.size());
  }
  return size_t(index);
}

ImageList part_of(const ImageFolder& folder, const SampleList& samples) {
  return Access::fill<ImageList>(std::make_shared<const ImageListState>(
      ImageListState{folder.root, folder.classes, samples, nullptr}));
}

}  // namespace

ImageReader make_reader(const ImageListState& list) {
  if (list.source == nullptr) return {};
  return [source = list.source](uint32_t index, Image& image) -> Result<void> {
    try {
      return take_pixels(source->load(int64_t(index)), image);
    } catch (const Error& error) {
      if (!is_about_image(error)) throw;
      return tl::make_unexpected(error);
    }
  };
}

SkippedFileInfo to_info(const SkippedFile& file) {
  return {file.path, skip_kind_name(file.kind), file.reason};
}

ImageSource::~ImageSource() = default;

std::string ImageSource::name(int64_t index) const {
  return fmt::format("image {}", index);
}

int64_t ImageList::size() const {
  return int64_t(Access::state(*this, "ImageList")->samples.size());
}

const std::vector<std::string>& ImageList::classes() const {
  return Access::state(*this, "ImageList")->classes;
}

int ImageList::label(int64_t index) const {
  const auto& state = Access::state(*this, "ImageList");
  return state->samples.label(checked_index(*state, index));
}

std::string ImageList::path(int64_t index) const {
  const auto& state = Access::state(*this, "ImageList");
  return state->samples.path(checked_index(*state, index));
}

std::vector<double> ImageList::balanced_class_weights() const {
  const auto& state = Access::state(*this, "ImageList");
  std::vector<int64_t> images(state->classes.size());
  for (size_t i = 0; i < state->samples.size(); ++i) ++images[size_t(state->samples.label(i))];
  std::vector<double> weights(images.size(), 1);
  for (size_t i = 0; i < images.size(); ++i) {
    if (images[i] == 0) continue;
    weights[i] = double(state->samples.size()) / (double(images.size()) * double(images[i]));
  }
  return weights;
}

struct Dataset::Parts {
  ImageList train, val, test;
  std::vector<SkippedFileInfo> skipped;
  std::vector<std::string> notes;
};

Dataset::Dataset(const std::string& folder, const DatasetOptions& options) {
  if (!(options.val_fraction >= 0 && options.val_fraction <= 0.9)) {
    fail(ErrorKind::InvalidArgument, "val_fraction is {}, expected 0 to 0.9", options.val_fraction);
  }
  ImageFolder found = scan_dataset({.root = folder,
                                    .val_fraction = options.val_fraction,
                                    .on_bad = to_on_bad(options.on_bad),
                                    .threads = std::max(0, options.workers),
                                    .cache_folder = cache_folder()});
  auto parts = std::make_shared<Parts>();
  parts->train = part_of(found, found.train);
  parts->val = part_of(found, found.val);
  parts->test = part_of(found, found.test);
  for (const SkippedFile& file : found.skipped) parts->skipped.push_back(to_info(file));
  parts->notes = found.notes;
  parts_ = std::move(parts);
}

Dataset::Dataset(std::shared_ptr<const ImageSource> train, std::shared_ptr<const ImageSource> val,
                 std::shared_ptr<const ImageSource> test) {
  if (train == nullptr) fail(ErrorKind::InvalidArgument, "the source of training images is null");
  auto parts = std::make_shared<Parts>();
  auto first = read_source(std::move(train));
  std::vector<std::string> classes = first->classes;
  parts->train = Access::fill<ImageList>(std::shared_ptr<const ImageListState>(std::move(first)));
  for (auto [source, part] : {std::pair(val, &parts->val), std::pair(test, &parts->test)}) {
    auto list = std::make_shared<ImageListState>();
    list->classes = classes;
    if (source != nullptr) list = read_source(source);
    if (list->classes != classes) {
      fail(ErrorKind::InvalidArgument, "classes of the parts differ: {} and {}",
           fmt::join(classes, ", "), fmt::join(list->classes, ", "));
    }
    *part = Access::fill<ImageList>(std::shared_ptr<const ImageListState>(std::move(list)));
  }
  parts_ = std::move(parts);
}

const Dataset::Parts& Dataset::parts() const {
  if (parts_ == nullptr) {
    fail(ErrorKind::InvalidArgument, "this Dataset is empty: it was moved from");
  }
  return *parts_;
}

const std::vector<std::string>& Dataset::classes() const {
  return parts().train.classes();
}

ImageList Dataset::train() const {
  return parts().train;
}

ImageList Dataset::val() const {
  return parts().val;
}

ImageList Dataset::test() const {
  return parts().test;
}

const std::vector<SkippedFileInfo>& Dataset::skipped() const {
  return parts().skipped;
}

const std::vector<std::string>& Dataset::notes() const {
  return parts().notes;
}

}  // namespace pounce
