#include "data/sample_reader.h"

#include <algorithm>
#include <new>

#include "base/file.h"
#include "base/system.h"
#include "data/header_scan.h"

namespace pounce {
namespace {

constexpr uint64_t kPiece = uint64_t(1) << 20;

void resize_for(std::vector<uint8_t>& content, uint64_t bytes, const std::string& path) {
  try {
    content.resize(size_t(bytes));
  } catch (const std::bad_alloc&) {
    fail_with_hint(ErrorKind::OutOfMemory, "use fewer --workers",
                   "cannot read {}: its {} bytes do not fit into memory", path, bytes);
  }
}

}  // namespace

PrepareRule prepare_rule(const BatchLoaderOptions& options) {
  return {options.preprocessing, options.augmentation};
}

Result<void> read_image_file(const std::string& path, const std::stop_token& stop,
                             std::vector<uint8_t>& content, FileStamp* stamp) {
  Result<InputFile> file = InputFile::open(path);
  if (!file) return tl::make_unexpected(file.error());
  if (auto refused = check_file_size(file->size())) return tl::make_unexpected(*refused);
  resize_for(content, file->size(), path);
  if (stamp != nullptr) *stamp = file->stamp();
  for (uint64_t at = 0; at < content.size();) {
    if (stop.stop_requested()) fail(ErrorKind::Interrupted, "stopped");
    uint64_t piece = std::min(kPiece, content.size() - at);
    Result<size_t> bytes = file->read_at(at, std::span(content).subspan(at, piece));
    if (!bytes) return tl::make_unexpected(bytes.error());
    at += *bytes;
    if (*bytes < piece) content.resize(at);  // it has become shorter
  }
  return {};
}

SampleReader::SampleReader(const BatchLoaderOptions& options, const SampleList& samples,
                           std::stop_token stop)
    : options_(options),
      samples_(samples),
      stop_(std::move(stop)),
      preparer_(prepare_rule(options)) {}

std::optional<SkippedFile> SampleReader::read(uint32_t index, const AugmentKey& key, uint8_t* out) {
  Result<void> done =
      options_.reader ? read_own_sample(index, key, out) : read_file_sample(index, key, out);
  if (done) return std::nullopt;
  return skipped_file(samples_.path(index), done.error());
}

Result<void> SampleReader::read_own_sample(uint32_t index, const AugmentKey& key, uint8_t* out) {
  double start = monotonic_seconds();
  Result<void> done = options_.reader(index, image_);
  seconds_.read += monotonic_seconds() - start;
  if (!done) return done;
  preparer_.from_pixels(image_, key, out);
  return {};
}

Result<void> SampleReader::read_file_sample(uint32_t index, const AugmentKey& key, uint8_t* out) {
  std::string path = join_path(options_.root, samples_.path(index));
  if (options_.cache && options_.cache->may_hold(key.id)) {
    if (std::optional<Result<void>> done = read_cached(path, key, out)) return *done;
  }
  double start = monotonic_seconds();
  FileStamp stamp;
  Result<void> read = read_image_file(path, stop_, file_, &stamp);
  seconds_.read += monotonic_seconds() - start;
  if (!read) return read;
  if (options_.cache) return prepare_and_store(index, stamp, key, out);
  return preparer_.from_bytes(file_, key, out);
}

// Nothing where the file has to be read, be it only to say what is wrong with it.
std::optional<Result<void>> SampleReader::read_cached(const std::string& path,
                                                      const AugmentKey& key, uint8_t* out) {
  double start = monotonic_seconds();
  Result<FileStamp> stamp = stat_file(path);
  std::optional<CachedImage> found;
  if (stamp) found = options_.cache->find(key.id, *stamp);
  seconds_.read += monotonic_seconds() - start;
  if (!found) return std::nullopt;
  if (found->kind == CachedKind::Bytes) {
    // Only what could be decoded was stored: if it cannot be now, the cache is at fault.
    if (preparer_.from_bytes(found->data, key, out)) return Result<void>();
    return std::nullopt;
  }
  if (may_decode_scaled(found->width, found->height, preparer_.rule())) return std::nullopt;
  preparer_.from_pixels({found->width, found->height, found->data.data()}, key, out);
  return Result<void>();
}

// What is in file_. The cache gets only what could be decoded.
Result<void> SampleReader::prepare_and_store(uint32_t index, const FileStamp& stamp,
                                             const AugmentKey& key, uint8_t* out) {
  CachedKind kind = CachedKind::Bytes;
  PictureSize size =
      shrunk_size(samples_.width(index), samples_.height(index), options_.preprocessing);
  bool is_wanted = options_.cache->wants(key.id, size.width, size.height, file_.size(), &kind);
  if (is_wanted && kind == CachedKind::Pixels) {
    return prepare_and_store_pixels(index, stamp, key, out);
  }
  Result<void> done = preparer_.from_bytes(file_, key, out);
  if (done && is_wanted) options_.cache->store(key.id, stamp, {.kind = kind, .data = file_});
  return done;
}

Result<void> SampleReader::prepare_and_store_pixels(uint32_t index, const FileStamp& stamp,
                                                    const AugmentKey& key, uint8_t* out) {
  auto store = [&](const Image& image) {
    options_.cache->store(key.id, stamp,
                          {CachedKind::Pixels, image.rgb, image.width, image.height, {}});
  };
  // Row by row, for a picture that is reduced may be too large to lie in memory as a whole.
  if (is_shrunk(samples_.width(index), samples_.height(index), options_.preprocessing)) {
    Result<void> done = preparer_.from_bytes(file_, key, out);
    if (done && preparer_.reduced() != nullptr) store(*preparer_.reduced());
    return done;
  }
  double start = monotonic_seconds();
  Result<void> decoded = decode_image(file_, image_, {.exif = options_.preprocessing.exif});
  seconds_.decode += monotonic_seconds() - start;
  if (!decoded && decoded.error().kind() == ErrorKind::OutOfMemory) throw decoded.error();
  // Damage outside the crop does not matter without a cache, so it must not with one; and scaled
  // decoding would give other bytes than the whole picture does.
  if (!decoded || may_decode_scaled(image_.width, image_.height, preparer_.rule())) {
    return preparer_.from_bytes(file_, key, out);
  }
  preparer_.from_pixels(image_, key, out);
  store(preparer_.reduced() != nullptr ? *preparer_.reduced() : image_);
  return {};
}

StageSeconds SampleReader::seconds() const {
  StageSeconds seconds = preparer_.seconds();
  seconds.read += seconds_.read;
  seconds.decode += seconds_.decode;
  return seconds;
}

}  // namespace pounce
