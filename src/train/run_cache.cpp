#include "train/run_cache.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/cache_folder.h"
#include "base/file.h"
#include "base/parallel.h"
#include "base/system.h"
#include "base/text.h"
#include "data/disk_cache.h"
#include "data/ram_cache.h"

namespace pounce {
namespace {

constexpr double kFractionWorthACache = 0.05, kSecondsWorthACache = 1;
// Shares of the free memory: what the user asked for may take more than what Pounce chose.
constexpr int64_t kAskedShare = 2, kChosenShare = 4;

// The part of a limit that is given; nothing where it is to be chosen.
std::optional<uint64_t> limit_of(const CacheLimit& limit, int64_t whole) {
  if (limit.bytes > 0) return uint64_t(limit.bytes);
  if (limit.percent > 0) return uint64_t(double(whole) * limit.percent / 100);
  return std::nullopt;
}

// Whatever way the EXIF orientation turns the picture.
bool may_hold_pixels(int width, int height, const PrepareRule& rule) {
  return !may_decode_scaled(width, height, rule) && !may_decode_scaled(height, width, rule);
}

// The disk cache's rule: what of the preparation lies between a file and what is kept of it.
std::string rule_text(const Preprocessing& rule) {
  std::string text = rule.exif ? "exif" : "";
  if (rule.shrink > 0) text += fmt::format("{}shrink {}", text.empty() ? "" : " ", rule.shrink);
  return text;
}

}  // namespace

// Stands in for a cache that may begin between two epochs.
class RunCache::LateCache final : public ImageCache {
 public:
  // Once.
  void begin(std::unique_ptr<ImageCache> cache) {
    owner_ = std::move(cache);
    cache_.store(owner_.get(), std::memory_order_release);
  }
  bool has_begun() const { return get() != nullptr; }

  bool may_hold(uint64_t id) const override {
    const ImageCache* cache = get();
    return cache != nullptr && cache->may_hold(id);
  }
  std::optional<CachedImage> find(uint64_t id, const FileStamp& stamp) override {
    ImageCache* cache = get();
    return cache != nullptr ? cache->find(id, stamp) : std::nullopt;
  }
  bool wants(uint64_t id, int width, int height, uint64_t file_bytes,
             CachedKind* kind) const override {
    const ImageCache* cache = get();
    return cache != nullptr && cache->wants(id, width, height, file_bytes, kind);
  }
  void store(uint64_t id, const FileStamp& stamp, const CachedImage& image) override {
    if (ImageCache* cache = get()) cache->store(id, stamp, image);
  }

 private:
  ImageCache* get() const { return cache_.load(std::memory_order_acquire); }

  std::unique_ptr<ImageCache> owner_;
  std::atomic<ImageCache*> cache_{nullptr};
};

RunCache::RunCache(const TrainConfig& config, std::string root, std::vector<CachedList> lists)
    : config_(config), root_(std::move(root)), lists_(std::move(lists)) {
  if (config_.cache != CacheMode::None) late_ = std::make_shared<LateCache>();
}

RunCache::~RunCache() = default;

std::shared_ptr<ImageCache> RunCache::cache() const {
  return late_;
}

// A file that has gone is left out; the loader will say so.
std::vector<CacheCandidate> RunCache::candidates() const {
  std::vector<CacheCandidate> all;
  for (const CachedList& list : lists_) {
    const SampleList& samples = list.samples;
    size_t begin = all.size();
    all.resize(begin + samples.size());
    for_each_parallel(config_.workers, samples.size(), [&](size_t i) {
      Result<FileStamp> stamp = stat_file(join_path(root_, samples.path(i)));
      int width = samples.width(i), height = samples.height(i);
      PictureSize kept = shrunk_size(width, height, list.rule.preprocessing);
      all[begin + i] = {.id = samples.id(i),
                        .width = kept.width,
                        .height = kept.height,
                        .file_bytes = stamp ? stamp->size : 0,
                        .may_hold_pixels = may_hold_pixels(width, height, list.rule),
                        .may_hold_bytes = list.rule.preprocessing.shrink == 0};
    });
  }
  std::erase_if(all, [](const CacheCandidate& image) { return image.file_bytes == 0; });
  return all;
}

std::vector<std::string> RunCache::start(int64_t reserved_bytes) {
  if (config_.cache == CacheMode::Disk) return {start_disk()};
  if (config_.cache == CacheMode::Shrunk) return {start_shrunk()};
  if (config_.cache != CacheMode::Ram) return {};
  int64_t free = std::max<int64_t>(0, available_memory_bytes() - reserved_bytes);
  std::optional<uint64_t> given = limit_of(config_.cache_limit, total_memory_bytes());
  return {"the run " + start_ram(given.value_or(uint64_t(free / kAskedShare)))};
}

std::string RunCache::start_ram(uint64_t limit) {
  CacheForecast forecast = forecast_cache(candidates(), limit);
  std::string note = forecast.summary() + " of memory";
  late_->begin(std::make_unique<RamCache>(std::move(forecast), limit));
  return note;
}

std::string RunCache::start_disk() {
  std::string folder = cache_folder();
  if (folder.empty()) {
    return "no image cache: HOME is not set; POUNCE_CACHE_DIR says where it shall be";
  }
  if (is_inside(folder, root_)) {
    return fmt::format(
        "no image cache: its folder {} lies inside the images; POUNCE_CACHE_DIR says "
        "where it shall be",
        folder);
  }
  std::optional<uint64_t> given = limit_of(config_.cache_limit, total_disk_bytes(folder));
  DiskCacheOptions options{.folder = folder,
                           .root = root_,
                           .rule = rule_text(lists_.front().rule.preprocessing),
                           .limit = given.value_or(default_disk_cache_limit(folder)),
                           .candidates = candidates()};
  Result<std::unique_ptr<DiskCache>> cache = DiskCache::open(std::move(options));
  if (!cache) return fmt::format("no image cache: {}", cache.error().message());
  disk_ = cache->get();
  std::string note =
      fmt::format("the run {} of {}; {} lie there already", disk_->forecast().summary(), folder,
                  group_digits(disk_->held_images()));
  if (!disk_->is_writer()) note += ", and this process may add none";
  late_->begin(std::move(*cache));
  return note;
}

// The rule holds with and without a cache.
std::string RunCache::start_shrunk() {
  int side = lists_.front().rule.preprocessing.shrink;
  std::string note = start_disk();
  if (disk_ == nullptr) note += "; every picture is decoded and reduced again in each epoch";
  return fmt::format("pictures are first reduced to a short side of {}, a rule of the model; {}",
                     side, note);
}

std::optional<std::string> RunCache::after_epoch(const Wait& wait) {
  if (disk_ != nullptr && !has_named_write_error_ && !disk_->write_error().empty()) {
    has_named_write_error_ = true;
    return fmt::format("the image cache takes no more: {}", disk_->write_error());
  }
  bool may_begin = config_.cache == CacheMode::Auto && !late_->has_begun();
  bool is_worth_it = wait.fraction > kFractionWorthACache && wait.seconds > kSecondsWorthACache &&
                     wait.data_limit != "transform";
  if (!may_begin || !is_worth_it) return std::nullopt;
  int64_t free = available_memory_bytes();
  std::optional<uint64_t> given = limit_of(config_.cache_limit, total_memory_bytes());
  return fmt::format("the steps waited for images {:.0f} % of the time: from now on the run {}",
                     wait.fraction * 100, start_ram(given.value_or(uint64_t(free / kChosenShare))));
}

}  // namespace pounce
