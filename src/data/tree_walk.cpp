#include "data/tree_walk.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include "base/parallel.h"
#include "data/folder_listing.h"

namespace pounce {
namespace {

// As the paths below compare: a folder's name is followed by a slash.
bool comes_before(const DirectoryEntry& a, const DirectoryEntry& b) {
  size_t n = std::min(a.name.size(), b.name.size());
  int order = a.name.compare(0, n, b.name, 0, n);
  if (order != 0) return order < 0;
  auto next = [n](const DirectoryEntry& entry) {
    if (entry.name.size() > n) return uint8_t(entry.name[n]);
    return uint8_t(entry.kind == EntryKind::Directory ? '/' : '\0');
  };
  return next(a) < next(b);
}

}  // namespace

TreeWalk::TreeWalk(const TreeWalkOptions& options) {
  for (size_t i = 0; i < options.tops.size(); ++i) {
    Folder& folder = folders_.emplace_back();
    folder.path = options.tops[i];
    folder.top = i;
    folder.chain = folder_chain(join_path(options.root, folder.path));
  }
  std::atomic<int64_t> files = 0;
  std::thread::id caller = std::this_thread::get_id();
  // One level of folders after the other; those of a level are independent.
  for (size_t begin = 0, end = folders_.size(); begin < end; end = folders_.size()) {
    for_each_parallel(options.threads, end - begin, [&](size_t i) {
      throw_if_stopped(options.stop);
      list(options, folders_[begin + i]);
      files += folders_[begin + i].files;
      if (options.progress && std::this_thread::get_id() == caller) options.progress(files);
    });
    for (; begin < end; ++begin) {
      for (size_t k = 0; k < folders_[begin].subfolders.size(); ++k) {
        Folder next;
        Subfolder& found = folders_[begin].subfolders[k];
        next.path = join_path(folders_[begin].path, found.name);
        next.top = folders_[begin].top;
        next.parent = begin;
        next.chain = {found.id};
        found.index = folders_.size();
        folders_.push_back(std::move(next));
      }
    }
  }
  for (const Folder& folder : folders_) {
    for (const auto& [reason, count] : folder.ignored) ignored[reason] += count;
    if (!folder.failure.empty()) {
      unlisted.push_back({folder.path, SkipKind::Unreadable, folder.failure});
    }
  }
  std::sort(unlisted.begin(), unlisted.end(),
            [](const SkippedFile& a, const SkippedFile& b) { return a.path < b.path; });
}

bool TreeWalk::is_circle(const Folder& folder, const FileId& id) const {
  for (const Folder* at = &folder;; at = &folders_[at->parent]) {
    if (std::find(at->chain.begin(), at->chain.end(), id) != at->chain.end()) return true;
    if (at->parent == kNone) return false;
  }
}

void TreeWalk::list(const TreeWalkOptions& options, Folder& folder) const {
  std::string place = folder.path.empty() ? options.root : join_path(options.root, folder.path);
  Result<std::vector<DirectoryEntry>> entries = list_directory(place, has_image_extension);
  if (!entries) {
    folder.failure = entries.error().message();
    return;
  }
  // Mostly they are in order: only a folder beside names that begin as its own is not.
  if (!std::is_sorted(entries->begin(), entries->end(), comes_before)) {
    std::sort(entries->begin(), entries->end(), comes_before);
  }
  for (const DirectoryEntry& entry : *entries) {
    throw_if_stopped(options.stop);
    bool is_folder = entry.kind == EntryKind::Directory;
    if (is_folder && is_circle(folder, entry.id)) continue;
    std::string_view reason = reason_to_ignore(entry);
    if (is_folder && folder.path.empty() && entry.name == "runs") reason = "runs folder";
    if (!reason.empty()) {
      bool is_table = options.is_table && options.is_table(join_path(place, entry.name));
      if (!is_table) ++folder.ignored[std::string(reason)];
    } else if (is_folder) {
      folder.subfolders.push_back({entry.name, folder.files, entry.id});
    } else {
      folder.names.append(entry.name).push_back('\0');
      ++folder.files;
    }
  }
  folder.names.shrink_to_fit();
}

void TreeWalk::emit(const Folder& folder,
                    const std::function<void(size_t top, const std::string& path)>& take) const {
  size_t at = 0, next = 0;
  std::string path = folder.path.empty() ? "" : folder.path + "/";
  size_t stem = path.size();
  for (uint32_t i = 0; i <= folder.files; ++i) {
    for (; next < folder.subfolders.size() && folder.subfolders[next].files_before == i; ++next) {
      emit(folders_[folder.subfolders[next].index], take);
    }
    if (i == folder.files) break;
    std::string_view name(&folder.names[at]);
    path.resize(stem);
    path += name;
    take(folder.top, path);
    at += name.size() + 1;
  }
}

void TreeWalk::for_each(
    const std::function<void(size_t top, const std::string& path)>& take) const {
  std::vector<const Folder*> tops;
  for (const Folder& folder : folders_) {
    if (folder.parent == kNone) tops.push_back(&folder);
  }
  std::sort(tops.begin(), tops.end(),
            [](const Folder* a, const Folder* b) { return a->path + "/" < b->path + "/"; });
  for (const Folder* folder : tops) emit(*folder, take);
}

}  // namespace pounce
