#include "pounce/loader.h"

#include "api/loader_state.h"
#include "data/order.h"

namespace pounce {
namespace {

constexpr uint32_t kMostEpochs = uint32_t{1} << 24;

void check_range(const char* name, double value, double low, double high) {
  if (!(value >= low && value <= high)) {
    fail(ErrorKind::InvalidArgument, "loader: {} is {}, expected {} to {}", name, value, low, high);
  }
}

const LoaderOptions& checked(const LoaderOptions& options) {
  check_range("batch_size", options.batch_size, 1, 65536);
  check_range("image_size", options.image_size, 8, 4096);
  check_range("resize_ratio", options.resize_ratio, 0.1, 1);
  if (!(options.crop_scale_min > 0 && options.crop_scale_min <= options.crop_scale_max &&
        options.crop_scale_max <= 1)) {
    fail(ErrorKind::InvalidArgument,
         "loader: crop_scale_min is {}, crop_scale_max {}, expected shares above 0, at most 1, the "
         "first not above the other",
         options.crop_scale_min, options.crop_scale_max);
  }
  check_range("hflip", options.hflip, 0, 1);
  check_range("vflip", options.vflip, 0, 1);
  check_range("workers", options.workers, 0, 1024);
  return options;
}

const ImageListState& checked_images(const ImageList& images) {
  const ImageListState& state = *Access::state(images, "ImageList");
  if (state.samples.empty())
    fail(ErrorKind::InvalidArgument, "loader: there are no images to load");
  return state;
}

BatchLoaderOptions to_internal(const LoaderOptions& options, const ImageListState& images) {
  return {.root = images.root,
          .batch_size = options.batch_size,
          .preprocessing = {.image_size = options.image_size,
                            .resize_ratio = options.resize_ratio,
                            .fit = options.fit},
          .augmentation = {.enabled = options.augment,
                           .crop_min = options.crop_scale_min,
                           .crop_max = options.crop_scale_max,
                           .hflip = options.hflip,
                           .vflip = options.vflip},
          .shuffle = options.shuffle,
          .seed = options.seed,
          .workers = options.workers,
          .reader = make_reader(images)};
}

}  // namespace

LoaderState::LoaderState(ImageList list, const LoaderOptions& given)
    : images(std::move(list)),
      options(checked(given)),
      loader(to_internal(options, checked_images(images)), checked_images(images).samples) {}

void LoaderState::start_epoch(uint32_t number) {
  if (number >= kMostEpochs) {
    fail(ErrorKind::InvalidArgument, "epoch {} was begun, expected below {}", number, kMostEpochs);
  }
  loader.start_epoch(number);
  ++stamp;
}

std::shared_ptr<const Batch> LoaderState::next(uint64_t of_stamp) {
  if (of_stamp != stamp) {
    fail(ErrorKind::InvalidArgument, "another epoch of this Loader was begun meanwhile");
  }
  std::optional<ImageBatch> found = loader.next();
  if (!found) return nullptr;
  const SampleList& samples = loader.samples();
  auto batch = std::make_shared<Batch>();
  int64_t size = options.image_size;
  batch->images = Tensor({found->size(), size, size, 3},
                         std::vector<uint8_t>(found->images.begin(), found->images.end()));
  batch->labels = found->labels;
  for (uint32_t index : found->indices) batch->paths.push_back(samples.path(index));
  for (const SkippedFile& file : found->holes) batch->skipped.push_back(to_info(file));
  loader.recycle(std::move(*found));
  return batch;
}

Loader::Loader(const ImageList& images, const LoaderOptions& options)
    : state_(std::make_shared<LoaderState>(images, options)) {}

Loader::Loader(Loader&&) noexcept = default;
Loader& Loader::operator=(Loader&&) noexcept = default;
Loader::~Loader() = default;

const ImageList& Loader::images() const {
  return Access::state(*this, "Loader")->images;
}

const LoaderOptions& Loader::options() const {
  return Access::state(*this, "Loader")->options;
}

int64_t Loader::batches() const {
  const auto& state = Access::state(*this, "Loader");
  return int64_t(batch_sizes(state->images.size(), state->options.batch_size).size());
}

Loader::Iterator Loader::begin() {
  Iterator iterator;
  iterator.state_ = Access::state(*this, "Loader");
  iterator.state_->start_epoch(iterator.state_->next_epoch++);
  iterator.stamp_ = iterator.state_->stamp;
  iterator.batch_ = iterator.state_->next(iterator.stamp_);
  return iterator;
}

const Batch& Loader::Iterator::operator*() const {
  return *operator->();
}

const Batch* Loader::Iterator::operator->() const {
  if (batch_ == nullptr) fail(ErrorKind::InvalidArgument, "the epoch of this Loader is over");
  return batch_.get();
}

Loader::Iterator& Loader::Iterator::operator++() {
  operator->();
  batch_ = state_->next(stamp_);
  return *this;
}

}  // namespace pounce
