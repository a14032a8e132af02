// Images kept from one epoch to the next: compressed bytes, or the pixels that decoding them gave.
// A cache saves time and changes nothing: an image is used only while its file has the size and
// time it had when it was stored, and what is handed out equals what reading and decoding give.
// Which images are kept, and as what, is decided beforehand (cache_forecast.h).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "base/file.h"

namespace pounce {

enum class CachedKind {
  Bytes,   // the file as it is
  Pixels,  // [height, width, 3], as decode_image gives them, or reduced by Preprocessing::shrink
};

struct CachedImage {
  CachedKind kind = CachedKind::Bytes;
  std::span<const uint8_t> data{};
  int width = 0, height = 0;  // of Pixels; 0 for Bytes
  std::shared_ptr<const void>
      owner{};  // keeps `data` alive and unchanged; may be empty for store()
};

// Thread safe.
class ImageCache {
 public:
  virtual ~ImageCache() = default;

  // Whether find() could give something: else the file's stamp need not be asked for.
  virtual bool may_hold(uint64_t id) const = 0;

  // Image `id` (Sample::id), whose file has `stamp` now. Nothing where it is not held, or the file
  // has changed since.
  virtual std::optional<CachedImage> find(uint64_t id, const FileStamp& stamp) = 0;

  // Whether an image that find() did not give should be stored, and then as what. `width` and
  // `height` as what is stored has them.
  virtual bool wants(uint64_t id, int width, int height, uint64_t file_bytes,
                     CachedKind* kind) const = 0;

  // Copies `image`. Does nothing when there is no room for it.
  virtual void store(uint64_t id, const FileStamp& stamp, const CachedImage& image) = 0;
};

}  // namespace pounce
