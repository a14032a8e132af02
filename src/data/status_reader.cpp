#include "data/status_reader.h"

namespace pounce {

FileStatus StatusReader::status_of(const FolderHandle& folder, std::string_view path,
                                   const std::string& name, std::string& target) {
  bool may_be_link = !target.empty();
  std::array<char, 1024> buffer;
  if (may_be_link) target = folder.link_target(name.c_str(), buffer);
  if (target.empty()) {
    FileStatus own = folder.own_status_of(name.c_str());
    if (own.kind != EntryKind::Link) return own;
    target = folder.link_target(name.c_str(), buffer);
  }
  if (target.empty()) return folder.status_of(name.c_str());
  return behind_link(folder, path, name, target);
}

FileStatus StatusReader::behind_link(const FolderHandle& folder, std::string_view path,
                                     const std::string& name, std::string_view target) {
  // A relative target means another file in another folder.
  std::string joined;
  std::string_view key = target;
  if (!target.starts_with('/')) {
    joined.append(path).append(target);
    key = joined;
  }
  Shard& shard = shards_[(Hash()(key) >> 32) % kShards];
  {
    std::lock_guard lock(shard.mutex);
    auto found = shard.by_target.find(key);
    if (found != shard.by_target.end()) return found->second;
  }
  FileStatus status = folder.status_of(name.c_str());
  std::lock_guard lock(shard.mutex);
  if (shard.by_target.size() < kMostInAShard) shard.by_target.emplace(key, status);
  return status;
}

}  // namespace pounce
