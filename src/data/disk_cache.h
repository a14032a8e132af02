// The image cache in a file of the cache folder: one for each data set and rule, kept from run to
// run and shared by all processes of a host. It is built by use: whichever process holds the lock
// stores what it decodes, the others read what is there and see it grow.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "data/cache_forecast.h"
#include "data/image_file.h"

namespace pounce {

struct DiskCacheOptions {
  std::string folder;  // made when it is missing
  std::string root;    // of the data set
  // How the images were made, beyond their files: "exif", "exif shrink 336". Images of one rule
  // never serve another.
  std::string rule;
  uint64_t limit = 0;  // bytes of all image files in the folder together
  std::vector<CacheCandidate> candidates{};
};

// Without --cache-limit: a tenth of what the folder's disk has free or this cache holds, at most
// 50 GB. `folder` need not exist.
uint64_t default_disk_cache_limit(const std::string& folder);

class DiskCache final : public ImageCache {
 public:
  // Error kind Io where the folder or the file can be neither made nor read.
  static Result<std::unique_ptr<DiskCache>> open(DiskCacheOptions options);

  bool may_hold(uint64_t id) const override;
  std::optional<CachedImage> find(uint64_t id, const FileStamp& stamp) override;
  bool wants(uint64_t id, int width, int height, uint64_t file_bytes,
             CachedKind* kind) const override;
  void store(uint64_t id, const FileStamp& stamp, const CachedImage& image) override;

  const CacheForecast& forecast() const { return forecast_; }
  // Of the forecast, as the file holds them now (their files may have changed since).
  int64_t held_images() const;
  // False where another process writes, or none may.
  bool is_writer() const { return file_->is_writer(); }
  // Why it stopped storing images: the disk is full. Empty while all is well.
  std::string write_error() const { return file_->write_error(); }

 private:
  struct Held {
    ImageRecord record;
    bool is_verified = false;
  };
  // What find() works on outside the lock.
  struct Found {
    Held held;
    std::shared_ptr<const MappedBytes> mapping;
    uint64_t mapping_begin = 0;
  };
  struct Segment {
    uint64_t begin = 0, end = 0;
    std::shared_ptr<const MappedBytes> mapping;
  };
  using Index = std::unordered_map<uint64_t, Held>;

  DiskCache(std::unique_ptr<ImageFile> file, DiskCacheOptions options, uint64_t room);
  static uint64_t room_for(const DiskCacheOptions& options, const std::string& own_path);
  Index& index_of(CachedKind kind) { return index_[kind == CachedKind::Pixels ? 1 : 0]; }
  const Index& index_of(CachedKind kind) const {
    return index_[kind == CachedKind::Pixels ? 1 : 0];
  }
  bool is_mostly_dead() const;
  void start_anew();
  void take_all(const std::vector<ImageRecord>& records);
  void take(const ImageRecord& record, bool is_verified);
  void refresh();
  bool may_store() const;
  std::optional<Found> look_up(uint64_t id, const FileStamp& stamp);
  const Held* choose(uint64_t id, const FileStamp& stamp) const;
  void extend_mapping();
  std::optional<CachedImage> load(const Found& found);
  void note_verified(const ImageRecord& record, bool is_good);

  std::unique_ptr<ImageFile> file_;
  const uint64_t room_;  // most bytes of the file
  const CacheForecast forecast_;

  mutable std::mutex mutex_;       // guards what follows
  std::array<Index, 2> index_;     // bytes, pixels
  uint64_t known_end_ = 0;         // of the last payload with a record
  std::vector<Segment> segments_;  // by offset; records lie in one or in none
  double next_lock_try_ = 0;
};

}  // namespace pounce
