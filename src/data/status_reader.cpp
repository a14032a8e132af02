#include "data/status_reader.h"

#include <functional>

namespace pounce {

FileStatus StatusReader::status_of(const FolderHandle& folder, std::string_view path,
                                   const std::string& name, bool& are_links) {
  std::array<char, 1024> buffer;
  std::string_view target;
  if (are_links) target = folder.link_target(name.c_str(), buffer);
  if (target.empty()) {
    FileStatus own = folder.own_status_of(name.c_str());
    are_links = own.kind == EntryKind::Link;
    if (!are_links) return own;
    target = folder.link_target(name.c_str(), buffer);
  }
  if (target.empty()) return folder.status_of(name.c_str());
  return behind_link(folder, path, name, target);
}

FileStatus StatusReader::behind_link(const FolderHandle& folder, std::string_view path,
                                     const std::string& name, std::string_view target) {
  // A relative target means another file in another folder.
  std::string key(target.starts_with('/') ? "" : path);
  key += target;
  Shard& shard = shards_[std::hash<std::string>()(key) % kShards];
  {
    std::lock_guard lock(shard.mutex);
    auto found = shard.by_target.find(key);
    if (found != shard.by_target.end()) return found->second;
  }
  FileStatus status = folder.status_of(name.c_str());
  std::lock_guard lock(shard.mutex);
  if (shard.by_target.size() < kMostInAShard) shard.by_target.emplace(std::move(key), status);
  return status;
}

}  // namespace pounce
