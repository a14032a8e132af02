// From a sample of a list to its pixels: the file from the cache or the disk, or
// what the caller's reader gives, then prepared.
// One a thread; its memory grows to the largest image met.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "base/file.h"
#include "data/loader.h"

namespace pounce {

PrepareRule prepare_rule(const BatchLoaderOptions& options);

// The whole file in pieces, so that a stop ends it soon. Kinds Io, Unsupported (longer than any
// picture); throws OutOfMemory, and Interrupted once `stop` is requested. `stamp`: of what was
// read.
Result<void> read_image_file(const std::string& path, const std::stop_token& stop,
                             std::vector<uint8_t>& content, FileStamp* stamp = nullptr);

class SampleReader {
 public:
  // All are borrowed.
  SampleReader(const BatchLoaderOptions& options, const SampleList& samples, std::stop_token stop);

  // [image_size, image_size, 3] to `out`; else why not, and the content of `out` is unspecified.
  // Throws what says nothing about the file: OutOfMemory, Interrupted, what the reader throws.
  std::optional<SkippedFile> read(uint32_t index, const AugmentKey& key, uint8_t* out);

  // Of all calls so far. A caller's reader counts as reading.
  StageSeconds seconds() const;

 private:
  Result<void> read_file_sample(uint32_t index, const AugmentKey& key, uint8_t* out);
  Result<void> read_own_sample(uint32_t index, const AugmentKey& key, uint8_t* out);
  std::optional<Result<void>> read_cached(const std::string& path, const AugmentKey& key,
                                          uint8_t* out);
  Result<void> prepare_and_store(uint32_t index, const FileStamp& stamp, const AugmentKey& key,
                                 uint8_t* out);
  Result<void> prepare_and_store_pixels(uint32_t index, const FileStamp& stamp,
                                        const AugmentKey& key, uint8_t* out);

  const BatchLoaderOptions& options_;
  const SampleList& samples_;
  std::stop_token stop_;
  Preparer preparer_;
  std::vector<uint8_t> file_;
  Image image_;           // of a caller's reader, or whole for the cache
  StageSeconds seconds_;  // what the preparer does not count
};

}  // namespace pounce
