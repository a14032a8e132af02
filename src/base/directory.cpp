// Folders, paths and the recursive walk of base/file.h.
#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"

namespace pounce {
namespace {

std::optional<struct stat> status_of(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  return status;
}

int64_t nanoseconds(const timespec& time) {
  return int64_t(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

FileStatus to_file_status(const struct stat& status) {
  FileStatus found;
  if (S_ISREG(status.st_mode)) found.kind = EntryKind::File;
  if (S_ISDIR(status.st_mode)) found.kind = EntryKind::Directory;
  if (S_ISLNK(status.st_mode)) found.kind = EntryKind::Link;
  found.id = {uint64_t(status.st_dev), uint64_t(status.st_ino)};
  found.size = uint64_t(status.st_size);
  found.mtime_ns = nanoseconds(status.st_mtim);
  found.ctime_ns = nanoseconds(status.st_ctim);
  return found;
}

FileStatus status_at(int folder, const char* name) {
  FileStatus found;
  struct stat status {};
  if (::fstatat(folder, name, &status, 0) != 0) {
    // A link that leads nowhere, or round in a circle; else the name vanished or is not for us.
    bool is_link =
        ::fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(status.st_mode);
    if (is_link) found.kind = EntryKind::DanglingLink;
    return found;
  }
  return to_file_status(status);
}

// Asks the file system only where the folder itself does not say it all.
DirectoryEntry describe_entry(int folder, const dirent& found,
                              const std::function<bool(std::string_view)>& skip_link) {
  DirectoryEntry entry;
  entry.name = found.d_name;
  if (found.d_type == DT_REG) {
    entry.kind = EntryKind::File;
  } else if (found.d_type == DT_LNK && skip_link && skip_link(entry.name)) {
    entry.kind = EntryKind::Link;
  } else {
    FileStatus status = status_at(folder, found.d_name);
    entry.kind = status.kind;
    entry.id = status.id;
  }
  return entry;
}

class Walker {
 public:
  Walker(const std::string& root, const DirectoryVisitor& visitor)
      : root_(root), visitor_(visitor) {}

  void walk(const std::string& relative) {
    Result<std::vector<DirectoryEntry>> entries =
        list_directory(relative.empty() ? root_ : join_path(root_, relative), visitor_.skip_link);
    if (!entries) {
      if (visitor_.failed) visitor_.failed(relative, entries.error());
      return;
    }
    for (const DirectoryEntry& entry : *entries) {
      if (visitor_.is_done && visitor_.is_done()) return;
      visit(join_path(relative, entry.name), entry);
    }
  }

  void start() {
    // A link to a folder above the root is a circle as well.
    open_ = folder_chain(root_);
    walk("");
  }

 private:
  void visit(const std::string& relative, const DirectoryEntry& entry) {
    if (entry.kind != EntryKind::Directory) {
      if (visitor_.visit) visitor_.visit(relative, entry);
      return;
    }
    bool is_cycle = std::find(open_.begin(), open_.end(), entry.id) != open_.end();
    if (is_cycle || (visitor_.enter && !visitor_.enter(relative, entry))) return;
    open_.push_back(entry.id);
    walk(relative);
    open_.pop_back();
  }

  const std::string& root_;
  const DirectoryVisitor& visitor_;
  std::vector<FileId> open_;  // every folder from / down to the current one
};

[[noreturn]] void fail_create(const std::string& path, int error_number) {
  fail_with_hint(ErrorKind::Io, "choose a folder that you may write to",
                 "cannot create the folder {}: {}", path, os_error_text(error_number));
}

}  // namespace

Result<std::vector<DirectoryEntry>> list_directory(
    const std::string& path, const std::function<bool(std::string_view name)>& skip_link) {
  std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(path.c_str()), ::closedir);
  auto list_error = [&](int error_number) {
    return tl::make_unexpected(
        Error(ErrorKind::Io, fmt::format("cannot list {}: {}", path, os_error_text(error_number))));
  };
  if (!folder) return list_error(errno);
  std::vector<DirectoryEntry> entries;
  for (;;) {
    errno = 0;
    const dirent* found = ::readdir(folder.get());
    if (!found) break;
    std::string_view name = found->d_name;
    if (name == "." || name == "..") continue;
    entries.push_back(describe_entry(::dirfd(folder.get()), *found, skip_link));
  }
  if (errno != 0) return list_error(errno);
  // Bytes of UTF-8 compare as code points do.
  std::sort(entries.begin(), entries.end(),
            [](const DirectoryEntry& a, const DirectoryEntry& b) { return a.name < b.name; });
  return entries;
}

Result<FolderHandle> FolderHandle::open(const std::string& path) {
  int descriptor = ::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) {
    return tl::make_unexpected(
        Error(ErrorKind::Io, fmt::format("cannot open {}: {}", path, os_error_text(errno))));
  }
  return FolderHandle(descriptor);
}

FolderHandle::FolderHandle(FolderHandle&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)) {}

FolderHandle& FolderHandle::operator=(FolderHandle&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

FolderHandle::~FolderHandle() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

FileStatus FolderHandle::status() const {
  struct stat status {};
  return ::fstat(descriptor_, &status) == 0 ? to_file_status(status) : FileStatus();
}

FileStatus FolderHandle::status_of(const char* name) const {
  return status_at(descriptor_, name);
}

FileStatus FolderHandle::own_status_of(const char* name) const {
  struct stat status {};
  bool is_known = ::fstatat(descriptor_, name, &status, AT_SYMLINK_NOFOLLOW) == 0;
  return is_known ? to_file_status(status) : FileStatus();
}

std::string_view FolderHandle::link_target(const char* name, std::span<char> buffer) const {
  ssize_t n = ::readlinkat(descriptor_, name, buffer.data(), buffer.size());
  // A full buffer may hold less than there is.
  return n <= 0 || size_t(n) == buffer.size() ? "" : std::string_view(buffer.data(), size_t(n));
}

int64_t file_clock_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return nanoseconds(now);
}

void walk_directory(const std::string& root, const DirectoryVisitor& visitor) {
  Walker(root, visitor).start();
}

std::vector<FileId> folder_chain(const std::string& path) {
  std::vector<FileId> chain;
  for (std::string part = canonical_path(path);; part = parent_path(part)) {
    if (auto status = status_of(part)) {
      chain.push_back({uint64_t(status->st_dev), uint64_t(status->st_ino)});
    }
    if (part == parent_path(part)) return chain;
  }
}

bool path_exists(const std::string& path) {
  return status_of(path).has_value();
}

bool is_missing(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) != 0 && (errno == ENOENT || errno == ENOTDIR);
}

bool is_directory(const std::string& path) {
  auto status = status_of(path);
  return status && S_ISDIR(status->st_mode);
}

bool is_regular_file(const std::string& path) {
  auto status = status_of(path);
  return status && S_ISREG(status->st_mode);
}

void make_directories(const std::string& path) {
  if (path.empty() || is_directory(path)) return;
  std::string parent = parent_path(path);
  if (parent != path && parent != ".") make_directories(parent);
  if (::mkdir(path.c_str(), 0777) == 0) return;
  int error_number = errno;
  // A file is in the way.
  if (error_number == EEXIST) error_number = ENOTDIR;
  if (!is_directory(path)) fail_create(path, error_number);
}

void check_directories(const std::string& path) {
  if (path.empty() || is_directory(path)) return;
  std::string parent = parent_path(path);
  if (parent != path && !is_directory(parent)) check_directories(parent);
  if (path_exists(path)) fail_create(path, ENOTDIR);
  // The first part that is missing decides; those below it would be new.
  if (is_directory(parent) && ::access(parent.c_str(), W_OK | X_OK) != 0) fail_create(path, errno);
}

bool make_new_directory(const std::string& path) {
  if (::mkdir(path.c_str(), 0777) == 0) return true;
  if (errno == EEXIST) return false;
  fail_create(path, errno);
}

bool remove_empty_directory(const std::string& path) noexcept {
  return ::rmdir(path.c_str()) == 0;
}

void remove_file(const std::string& path) {
  if (::unlink(path.c_str()) == 0 || errno == ENOENT) return;
  fail(ErrorKind::Io, "cannot remove {}: {}", path, os_error_text(errno));
}

std::string canonical_path(const std::string& path) {
  std::unique_ptr<char, void (*)(void*)> resolved(::realpath(path.c_str(), nullptr), std::free);
  if (resolved) return resolved.get();
  std::string parent = parent_path(path);
  std::string name(base_name(path));
  if (parent == path || name.empty()) return path;
  std::string folder = canonical_path(parent);
  if (name == ".") return folder;
  if (name == "..") return parent_path(folder);
  return join_path(folder, name);
}

bool is_inside(const std::string& path, const std::string& folder) {
  std::string inner = canonical_path(path), outer = canonical_path(folder);
  if (inner == outer || outer == "/") return true;
  return inner.starts_with(outer + "/");
}

std::string join_path(std::string_view folder, std::string_view name) {
  if (folder.empty() || name.starts_with('/')) return std::string(name);
  std::string path(folder);
  if (!path.ends_with('/')) path += '/';
  return path.append(name);
}

std::string_view base_name(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  size_t slash = path.rfind('/');
  return slash == std::string_view::npos || path.size() == 1 ? path : path.substr(slash + 1);
}

std::string parent_path(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return ".";
  while (slash > 0 && path[slash - 1] == '/') --slash;
  return std::string(path.substr(0, slash == 0 ? 1 : slash));
}

std::string file_extension(std::string_view path) {
  std::string_view name = base_name(path);
  size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || dot == 0) return "";
  return to_lower_ascii(name.substr(dot + 1));
}

std::string executable_path() {
  char buffer[PATH_MAX];
  ssize_t n = ::readlink("/proc/self/exe", buffer, sizeof buffer);
  return n > 0 ? std::string(buffer, size_t(n)) : "";
}

}  // namespace pounce
