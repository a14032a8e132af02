// The file in which the disk cache keeps images: written by one process at a time, read by any
// number. Internal to src/data.
//
//   header (base/cache_folder.h) | block | payloads ... | block | payloads ...
//
// A block is a table of records of 64 bytes; the last one leads to the next block. A payload is
// written before its record, so a record that is there is complete; a writer that was killed leaves
// at most bytes that no record names. Nothing is ever written twice or truncated, so that other
// processes may keep what they have mapped. Every record has a checksum over itself and one over
// its payload, which whoever uses it first verifies.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/cache_folder.h"
#include "base/shared_file.h"
#include "data/image_cache.h"

namespace pounce {

struct ImageRecord {
  uint64_t id = 0;
  FileStamp stamp{};  // of the image's file
  CachedKind kind = CachedKind::Bytes;
  int32_t width = 0, height = 0;  // of Pixels
  uint64_t offset = 0;            // of the payload in the file
  uint32_t length = 0;
  uint64_t checksum = 0;  // xxh3 of the payload
};

// Thread safe.
class ImageFile {
 public:
  // Before anything else, read_new() is called once. Makes the file where there is none, and anew
  // where it is damaged or of another version. Without the rights to write it is read where it is.
  // Error kind Io.
  static Result<std::unique_ptr<ImageFile>> open(const std::string& path,
                                                 const CacheHeader& header);

  // Records since the last call, in the order they were written. A damaged one is left out.
  std::vector<ImageRecord> read_new();

  // One process is the writer until it ends; others ask again from time to time, not from several
  // threads at once. They get what read_new() would give.
  bool is_writer() const { return is_writer_.load(); }
  std::vector<ImageRecord> try_become_writer();
  // Begins a file anew in the place of this one, which other processes may go on reading. Only for
  // the writer. Error kind Io.
  Result<std::unique_ptr<ImageFile>> replace();

  // Writes the payload and then its record, of which offset, length and checksum are filled in.
  // Nothing when the file would grow beyond `limit`, or cannot be written; then it is not tried
  // again. Only for the writer.
  std::optional<ImageRecord> append(ImageRecord record, std::span<const uint8_t> payload,
                                    uint64_t limit);
  // What the last append() met that was not the limit: a full disk. Empty without one.
  std::string write_error() const;

  // The payload of a record of this file. Not verified.
  Result<std::vector<uint8_t>> read(const ImageRecord& record) const;
  Result<std::shared_ptr<const MappedBytes>> map(uint64_t begin, uint64_t end) const;

  // Where the next payload goes: the size of the file, all in. Only for the writer.
  uint64_t end() const;
  // No further records can be read or written: a link between blocks is damaged.
  bool is_broken() const;
  // What `images` payloads need beside their content, at most.
  static uint64_t overhead_bytes(uint64_t images);

 private:
  struct Slot;
  ImageFile(SharedFile file, CacheHeader header, uint64_t first_block, bool can_write);
  static Result<void> begin(SharedFile& file, const CacheHeader& header);
  bool read_slots(size_t count, std::vector<ImageRecord>& records);
  bool take(const Slot& slot, std::vector<ImageRecord>& records);
  std::optional<ImageRecord> to_record(const Slot& slot) const;
  Result<void> write_slot(const Slot& slot);
  Result<void> add_block();
  Result<void> commit(const ImageRecord& record);

  SharedFile file_;
  CacheHeader header_;
  bool can_write_;
  std::atomic<bool> is_writer_{false};

  mutable std::mutex mutex_;  // guards what follows
  uint64_t block_;            // the block of the next record, and its place there
  size_t place_ = 0;
  uint64_t end_ = 0;
  uint64_t size_ = 0;  // of the file when it was last asked
  bool is_broken_ = false;
  std::string write_error_;
};

}  // namespace pounce
