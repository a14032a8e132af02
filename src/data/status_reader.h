// The status of many files, where many may be links to the same few: the file behind a link is
// asked about once a scan. Internal to src/data.
#pragma once

#include <array>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/file.h"

namespace pounce {

// Thread safe.
class StatusReader {
 public:
  // As folder.status_of(name). `path`: of the folder, with its last slash. `are_links`: whether the
  // name before was a link, false at first; neighbours are alike, and a good guess saves a call.
  FileStatus status_of(const FolderHandle& folder, std::string_view path, const std::string& name,
                       bool& are_links);

 private:
  struct Shard {
    std::mutex mutex;
    std::unordered_map<std::string, FileStatus> by_target;
  };
  FileStatus behind_link(const FolderHandle& folder, std::string_view path, const std::string& name,
                         std::string_view target);

  static constexpr size_t kShards = 64, kMostInAShard = 1024;
  std::array<Shard, kShards> shards_;
};

}  // namespace pounce
