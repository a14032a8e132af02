#include "train/verify_loader.h"

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "base/system.h"

namespace pounce {
namespace {

constexpr int64_t kBatches = 3;
constexpr int kSeveral = 3;  // threads, whatever the machine has: they must not matter

std::vector<ImageBatch> first_batches(BatchLoaderOptions options, const SampleList& samples,
                                      int workers) {
  options.workers = workers;
  BatchLoader loader(std::move(options), samples);
  loader.start_epoch(0);
  std::vector<ImageBatch> batches;
  while (int64_t(batches.size()) < kBatches) {
    std::optional<ImageBatch> batch = loader.next();
    if (!batch) break;
    batches.push_back(std::move(*batch));
  }
  return batches;
}

// Prepares images without a loader and compares.
class Checker {
 public:
  Checker(const BatchLoaderOptions& options, const SampleList& samples)
      : options_(options),
        samples_(samples),
        rule_{options.preprocessing, options.augmentation},
        preparer_(rule_),
        bytes_(size_t(rule_.preprocessing.image_size) * size_t(rule_.preprocessing.image_size) * 3),
        expected_(bytes_) {}

  void compare(const ImageBatch& batch, LoaderVerification& result) {
    for (size_t i = 0; i < batch.indices.size(); ++i) {
      std::span<const uint8_t> found = std::span(batch.images).subspan(i * bytes_, bytes_);
      uint32_t index = batch.indices[i];
      Result<std::vector<uint8_t>> file = read_file(join_path(options_.root, samples_.path(index)));
      if (!file) throw file.error();
      AugmentKey key{options_.seed, 0, samples_.id(index), 0};
      if (Result<void> done = preparer_.from_bytes(*file, key, expected_.data()); !done) {
        throw done.error();
      }
      check(found, index, "preparing it alone");
      ++result.images;
      if (compare_whole(*file, key, found, index)) ++result.decoded;
    }
  }

 private:
  // False where a scaled decoder gives other bytes by design, or damage lies outside the crop.
  bool compare_whole(std::span<const uint8_t> file, const AugmentKey& key,
                     std::span<const uint8_t> found, uint32_t index) {
    Result<Image> image = decode_image(file, {.exif = rule_.preprocessing.exif});
    if (!image) return false;
    if (may_decode_scaled(image->width, image->height, rule_)) return false;
    preparer_.from_pixels(*image, key, expected_.data());
    check(found, index, "decoding all of it");
    return true;
  }

  void check(std::span<const uint8_t> found, uint32_t index, const char* what) const {
    auto [a, b] = std::mismatch(found.begin(), found.end(), expected_.begin());
    if (a == found.end()) return;
    fail_with_hint(ErrorKind::Internal, "please report this with the picture",
                   "the loader gives {} other pixels than {} does, from byte {} on: {}, not {}",
                   samples_.path(index), what, a - found.begin(), *a, *b);
  }

  const BatchLoaderOptions& options_;
  const SampleList& samples_;
  PrepareRule rule_;
  Preparer preparer_;
  size_t bytes_;
  std::vector<uint8_t> expected_;
};

void check_equal(const std::vector<ImageBatch>& one, const std::vector<ImageBatch>& other,
                 const char* what) {
  for (size_t i = 0; i < one.size(); ++i) {
    bool is_equal =
        i < other.size() && one[i].indices == other[i].indices && one[i].images == other[i].images;
    if (is_equal) continue;
    fail_with_hint(ErrorKind::Internal, "please report this with the folder",
                   "batch {} differs between one decode thread and {}", i, what);
  }
}

}  // namespace

LoaderVerification verify_loader(const BatchLoaderOptions& options, const SampleList& samples) {
  double start = monotonic_seconds();
  BatchLoaderOptions uncached = options;
  uncached.cache = nullptr;
  std::vector<ImageBatch> one = first_batches(uncached, samples, 1);
  check_equal(one, first_batches(options, samples, kSeveral), "three");
  if (options.cache) {
    check_equal(one, first_batches(options, samples, 1), "a cache that holds its images");
  }
  LoaderVerification result;
  Checker checker(options, samples);
  for (const ImageBatch& batch : one) checker.compare(batch, result);
  result.seconds = monotonic_seconds() - start;
  return result;
}

}  // namespace pounce
