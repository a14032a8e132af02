// What an earlier scan read from the headers of a data set's files, kept in the cache folder, so
// that the next scan reads only those that are new or have changed. One file a data set, in blocks
// of a folder each. Nothing depends on it: a file that is missing, damaged, of another version or
// of another data set is as good as none, and one that cannot be written is not. Internal to
// src/data.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/file.h"
#include "data/decode.h"

namespace pounce {

// Tells one state of a file from another. A rewrite that keeps size and time of change still has
// another inode or another time of status change.
struct IndexStamp {
  uint64_t size = 0, inode = 0;
  int64_t mtime_ns = 0, ctime_ns = 0;
  bool operator==(const IndexStamp&) const = default;
};

enum class IndexVerdict : uint8_t { Usable, Damaged, Unsupported };

struct IndexEntry {
  IndexStamp stamp{};
  int32_t width = 0, height = 0;  // of usable files
  ImageFormat format = ImageFormat::Unknown;
  IndexVerdict verdict = IndexVerdict::Usable;
  std::string reason{};  // of the others
  std::string target{};  // of a link: where it leads, as written in it
};

// Of a folder. While it stays, no name in it and no link has changed: a link is never rewritten, it
// is removed and made anew.
struct FolderStamp {
  uint64_t inode = 0;
  int64_t mtime_ns = 0, ctime_ns = 0;
  bool operator==(const FolderStamp&) const = default;
};

// The entries of one folder, by name.
class IndexBlock {
 public:
  size_t size() const { return count_; }
  const FolderStamp& stamp() const { return stamp_; }
  std::string_view name(size_t i) const;
  // The entry of `name`. `hint`: where the search begins, 0 at first; names asked for in ascending
  // order are found at once.
  std::optional<IndexEntry> find(std::string_view name, size_t& hint) const;

 private:
  friend class ScanIndex;
  // Nothing where `bytes` do not hold what they say.
  static std::shared_ptr<const IndexBlock> decode(std::vector<uint8_t> bytes);

  std::vector<uint8_t> bytes_;
  FolderStamp stamp_;
  size_t count_ = 0;
};

// Names, in ascending order, and their entries.
using IndexEntries = std::vector<std::pair<std::string_view, IndexEntry>>;

// The headers of fewer files are read in no time.
constexpr int64_t kFilesWorthAnIndex = 500;

class ScanIndex {
 public:
  // Opens what is there. `cache`: the folder of the file, empty for none; `root`: the data set, in
  // which no index is ever kept.
  ScanIndex(const std::string& cache, const std::string& root);
  // Commits: what a scan that was stopped has read need not be read again.
  ~ScanIndex();
  ScanIndex(const ScanIndex&) = delete;
  ScanIndex& operator=(const ScanIndex&) = delete;

  bool is_kept() const { return !path_.empty(); }
  // The block of a folder (relative to the root, "cat/"); null where there is none. By several
  // threads.
  std::shared_ptr<const IndexBlock> find(const std::string& folder) const;
  // Whether verdicts of unsupported formats hold: the same formats can be decoded as then. Asked
  // only where there are such verdicts, since it loads every codec. By several threads.
  bool has_same_codecs() const;

  // Puts these entries in the place of the folder's.
  void put(const std::string& folder, const FolderStamp& stamp, const IndexEntries& entries);
  // Writes what has changed; folders that no scan has put stay while they exist.
  void commit() noexcept;

 private:
  struct Place {
    uint64_t offset = 0, bytes = 0, checksum = 0;
  };
  struct Writer;

  bool open();
  bool read_table(std::vector<uint8_t> table);
  // Empty where the file does not hold it.
  std::vector<uint8_t> read_block(const Place& place) const;
  void write_unchanged();

  std::string root_, path_;
  std::vector<uint8_t> header_;
  std::optional<InputFile> file_;
  std::unordered_map<std::string, Place> places_;
  std::string codecs_;  // that wrote file_
  std::unique_ptr<Writer> writer_;
};

}  // namespace pounce
