// The status of many files, where many may be links to the same few: the file behind a link is
// asked about once a scan. Internal to src/data.
#pragma once

#include <array>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/checksum.h"
#include "base/file.h"

namespace pounce {

// Thread safe.
class StatusReader {
 public:
  // As folder.status_of(name). `path`: of the folder, with its last slash. `target`: where the name
  // before links to, empty where it is no link, and then where this one does; neighbours are alike,
  // and a good guess saves a call.
  FileStatus status_of(const FolderHandle& folder, std::string_view path, const std::string& name,
                       std::string& target);
  // The same for a link known to lead to `target`.
  FileStatus behind_link(const FolderHandle& folder, std::string_view path, const std::string& name,
                         std::string_view target);

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return size_t(xxh3_64(text)); }
  };
  struct Shard {
    std::mutex mutex;
    std::unordered_map<std::string, FileStatus, Hash, std::equal_to<>> by_target;
  };

  static constexpr size_t kShards = 64, kMostInAShard = 1024;
  std::array<Shard, kShards> shards_;
};

}  // namespace pounce
