// A file that one process appends to while others read it. Bytes once written stay, and nobody
// truncates it, so a mapping of written bytes is valid for as long as it is held.
// The lock is advisory (flock): it goes when its process ends, however that ends.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/error.h"

namespace pounce {

// Bytes of a file in memory, for reading.
class MappedBytes {
 public:
  MappedBytes(const MappedBytes&) = delete;
  MappedBytes& operator=(const MappedBytes&) = delete;
  ~MappedBytes();
  std::span<const uint8_t> bytes() const { return bytes_; }

 private:
  friend class SharedFile;
  MappedBytes(void* start, size_t mapped, std::span<const uint8_t> bytes)
      : start_(start), mapped_(mapped), bytes_(bytes) {}
  void* start_;
  size_t mapped_;
  std::span<const uint8_t> bytes_;
};

// Move-only; closes itself, which gives up the lock. Its functions may be called by several
// threads.
class SharedFile {
 public:
  // Links are refused. Error kind Io.
  static Result<SharedFile> open(const std::string& path);
  // For reading and writing; an empty file, for this user alone, where there is none.
  static Result<SharedFile> open_or_create(const std::string& path);
  SharedFile(SharedFile&& other) noexcept;
  SharedFile& operator=(SharedFile&& other) noexcept;
  SharedFile(const SharedFile&) = delete;
  SharedFile& operator=(const SharedFile&) = delete;
  ~SharedFile();

  // False when another SharedFile holds it. Does not wait.
  bool try_lock();
  // Whether the path still leads to this file: it may have been unlinked or replaced.
  bool is_at_its_path() const;

  Result<uint64_t> size() const;
  // Returns the bytes read, fewer only at the end of the file.
  Result<size_t> read_at(uint64_t offset, std::span<uint8_t> into) const;
  // Needs open_or_create().
  Result<void> write_at(uint64_t offset, std::span<const uint8_t> bytes);
  // Error when the range does not lie in the file.
  Result<std::shared_ptr<const MappedBytes>> map(uint64_t offset, size_t length) const;

  const std::string& path() const { return path_; }

 private:
  SharedFile(std::string path, int descriptor);
  static Result<SharedFile> open_with(const std::string& path, int flags);
  Error error(const char* verb, int error_number) const;

  std::string path_;
  int descriptor_ = -1;
};

}  // namespace pounce
