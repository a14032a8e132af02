#include "data/disk_cache.h"

#include <algorithm>
#include <utility>

#include "base/checksum.h"
#include "base/file.h"
#include "base/system.h"

namespace pounce {
namespace {

constexpr std::string_view kKind = "images";
// Of the file's form, and of what decode_image makes of a file: a new version begins anew.
constexpr uint32_t kVersion = 1;

constexpr uint64_t kMostByDefault = uint64_t{50} << 30;
constexpr uint64_t kFreeShare = 10;  // one part in so many
// Stays free on the disk, or half of what is free: a run must be able to save its model.
constexpr uint64_t kKeptFree = uint64_t{1} << 30;

// What killed writers leave in a small file is not worth a new one.
constexpr uint64_t kLeastDead = uint64_t{256} << 10;

uint64_t bytes_of_image_files(const std::string& folder, const std::string& except) {
  uint64_t sum = 0;
  for (const CacheFile& file : list_cache_files(folder)) {
    if (file.header.kind == kKind && file.path != except) sum += file.bytes;
  }
  return sum;
}

}  // namespace

uint64_t default_disk_cache_limit(const std::string& folder) {
  uint64_t all = uint64_t(free_disk_bytes(folder)) + bytes_of_image_files(folder, "");
  return std::min(kMostByDefault, all / kFreeShare);
}

// What this file may grow to: the limit less the other data sets' files, as far as the disk goes.
uint64_t DiskCache::room_for(const DiskCacheOptions& options, const std::string& own_path) {
  uint64_t others = bytes_of_image_files(options.folder, own_path);
  uint64_t own = bytes_of_image_files(options.folder, "") - others;
  uint64_t free = uint64_t(free_disk_bytes(options.folder));
  uint64_t on_disk = own + free - std::min(kKeptFree, free / 2);
  return std::min(options.limit - std::min(options.limit, others), on_disk);
}

Result<std::unique_ptr<DiskCache>> DiskCache::open(DiskCacheOptions options) {
  CacheHeader header{.kind = std::string(kKind),
                     .version = kVersion,
                     .root = canonical_path(options.root),
                     .rule = options.rule};
  std::string path = cache_file_path(options.folder, header);
  try {
    make_cache_folder(options.folder);
  } catch (const Error& error) {
    return tl::make_unexpected(error);
  }
  uint64_t room = room_for(options, path);
  Result<std::unique_ptr<ImageFile>> file = ImageFile::open(path, header);
  if (!file) return tl::make_unexpected(file.error());
  mark_cache_file_used(path);
  std::unique_ptr<DiskCache> cache(new DiskCache(std::move(*file), std::move(options), room));
  cache->take_all(cache->file_->read_new());
  if (cache->is_mostly_dead()) cache->start_anew();
  return cache;
}

DiskCache::DiskCache(std::unique_ptr<ImageFile> file, DiskCacheOptions options, uint64_t room)
    : file_(std::move(file)),
      room_(room),
      forecast_(forecast_cache(
          options.candidates,
          room - std::min(room, ImageFile::overhead_bytes(options.candidates.size())))) {}

// Whether a new file would serve better than this one: a link is damaged, images were replaced
// again and again, or there is no room beside images that nobody wants any more.
bool DiskCache::is_mostly_dead() const {
  if (!is_writer()) return false;
  if (file_->is_broken()) return true;
  uint64_t live = 0, planned = 0;
  for (const Index& index : index_) {
    for (const auto& [id, held] : index) {
      live += held.record.length;
      const PlannedImage* image = forecast_.find(id);
      if (image != nullptr && image->kind == held.record.kind) planned += held.record.length;
    }
  }
  uint64_t end = file_->end();
  uint64_t overhead = ImageFile::overhead_bytes(index_[0].size() + index_[1].size());
  if (end - std::min(end, live + overhead) > live + kLeastDead) return true;
  bool has_room = end + forecast_.bytes - std::min(forecast_.bytes, planned) <= room_;
  return !has_room && planned < end / 2;
}

void DiskCache::start_anew() {
  Result<std::unique_ptr<ImageFile>> file = file_->replace();
  // What is there can still be read.
  if (!file) return;
  file_ = std::move(*file);
  for (Index& index : index_) index.clear();
  known_end_ = 0;
  segments_.clear();
  take_all(file_->read_new());
}

// A later record of an image takes the place of an earlier one.
void DiskCache::take(const ImageRecord& record, bool is_verified) {
  index_of(record.kind)[record.id] = {record, is_verified};
  known_end_ = std::max(known_end_, record.offset + record.length);
}

void DiskCache::take_all(const std::vector<ImageRecord>& records) {
  for (const ImageRecord& record : records) take(record, false);
}

// Sees what another process has stored, and asks for the lock where that one may have ended.
void DiskCache::refresh() {
  if (is_writer()) return;
  take_all(file_->read_new());
  constexpr double kPause = 1;
  double now = monotonic_seconds();
  if (is_writer() || now < next_lock_try_) return;
  next_lock_try_ = now + kPause;
  take_all(file_->try_become_writer());
}

bool DiskCache::may_store() const {
  return is_writer() && file_->write_error().empty();
}

const DiskCache::Held* DiskCache::choose(uint64_t id, const FileStamp& stamp) const {
  auto held = [&](CachedKind kind) -> const Held* {
    auto at = index_of(kind).find(id);
    bool is_fresh = at != index_of(kind).end() && at->second.record.stamp == stamp;
    return is_fresh ? &at->second : nullptr;
  };
  const Held* bytes = held(CachedKind::Bytes);
  const Held* pixels = held(CachedKind::Pixels);
  const PlannedImage* planned = forecast_.find(id);
  if (planned == nullptr) return bytes != nullptr ? bytes : pixels;
  if (pixels != nullptr && planned->may_hold_pixels) return pixels;
  // Without an answer the image is read, decoded and stored once more, now as pixels.
  bool waits_for_pixels = planned->kind == CachedKind::Pixels && may_store();
  return waits_for_pixels ? nullptr : bytes;
}

std::optional<DiskCache::Found> DiskCache::look_up(uint64_t id, const FileStamp& stamp) {
  std::lock_guard lock(mutex_);
  const Held* held = choose(id, stamp);
  if (held == nullptr) {
    refresh();
    held = choose(id, stamp);
  }
  if (held == nullptr) return std::nullopt;
  extend_mapping();
  Found found{.held = *held, .mapping = nullptr};
  for (const Segment& segment : segments_) {
    uint64_t begin = held->record.offset, end = begin + held->record.length;
    if (segment.begin > begin || end > segment.end) continue;
    found.mapping = segment.mapping;
    found.mapping_begin = segment.begin;
  }
  return found;
}

// In few pieces, each a good part of the whole; what lies behind the last one is read instead.
void DiskCache::extend_mapping() {
  constexpr uint64_t kLeast = uint64_t{64} << 20;
  uint64_t begin = segments_.empty() ? 0 : segments_.back().end;
  bool is_worth_it = segments_.empty() || known_end_ - begin >= std::max(kLeast, begin / 4);
  if (known_end_ <= begin || !is_worth_it) return;
  if (auto mapping = file_->map(begin, known_end_)) {
    segments_.push_back({begin, known_end_, std::move(*mapping)});
  }
}

std::optional<CachedImage> DiskCache::load(const Found& found) {
  const ImageRecord& record = found.held.record;
  CachedImage image{.kind = record.kind, .width = record.width, .height = record.height};
  if (found.mapping) {
    size_t begin = size_t(record.offset - found.mapping_begin);
    image.data = found.mapping->bytes().subspan(begin, record.length);
    image.owner = found.mapping;
    return image;
  }
  Result<std::vector<uint8_t>> payload = file_->read(record);
  if (!payload || payload->size() != record.length) return std::nullopt;
  auto owner = std::make_shared<const std::vector<uint8_t>>(std::move(*payload));
  image.data = *owner;
  image.owner = owner;
  return image;
}

void DiskCache::note_verified(const ImageRecord& record, bool is_good) {
  std::lock_guard lock(mutex_);
  Index& index = index_of(record.kind);
  auto at = index.find(record.id);
  // It may have been stored anew meanwhile.
  if (at == index.end() || at->second.record.offset != record.offset) return;
  at->second.is_verified = is_good;
  if (!is_good) index.erase(at);
}

std::optional<CachedImage> DiskCache::find(uint64_t id, const FileStamp& stamp) {
  std::optional<Found> found = look_up(id, stamp);
  if (!found) return std::nullopt;
  std::optional<CachedImage> image = load(*found);
  if (!image || found->held.is_verified) return image;
  bool is_good = xxh3_64(image->data) == found->held.record.checksum;
  note_verified(found->held.record, is_good);
  if (!is_good) return std::nullopt;
  return image;
}

// Another process may have stored it by now.
bool DiskCache::may_hold(uint64_t id) const {
  if (!is_writer()) return true;
  std::lock_guard lock(mutex_);
  return index_[0].contains(id) || index_[1].contains(id);
}

bool DiskCache::wants(uint64_t id, int width, int height, uint64_t file_bytes,
                      CachedKind* kind) const {
  const PlannedImage* planned = forecast_.find(id);
  if (planned == nullptr || !may_store()) return false;
  *kind = planned->kind;
  bool holds_pixels = *kind == CachedKind::Pixels;
  uint64_t needed = holds_pixels ? uint64_t(width) * uint64_t(height) * 3 : file_bytes;
  uint64_t end = file_->end();
  return end <= room_ && needed <= room_ - end;
}

void DiskCache::store(uint64_t id, const FileStamp& stamp, const CachedImage& image) {
  if (!may_store() || forecast_.find(id) == nullptr) return;
  ImageRecord record{
      .id = id, .stamp = stamp, .kind = image.kind, .width = image.width, .height = image.height};
  std::optional<ImageRecord> stored = file_->append(record, image.data, room_);
  if (!stored) return;
  std::lock_guard lock(mutex_);
  take(*stored, true);
}

int64_t DiskCache::held_images() const {
  std::lock_guard lock(mutex_);
  return std::count_if(
      forecast_.images.begin(), forecast_.images.end(),
      [&](const PlannedImage& image) { return index_of(image.kind).contains(image.id); });
}

}  // namespace pounce
