// Files and folders: the only place where Pounce reads, writes and lists them.
// Paths are UTF-8 bytes with '/' between parts. Reading returns Result, because an unreadable image
// is normal; writing throws, because a run whose results cannot be kept has failed.
// Complete files are written beside their final name, fsynced and renamed, so no reader ever sees a
// part of one.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace pounce {

// What the operating system said in words: "permission denied", "no space left on device", ...
std::string os_error_text(int error_number);

// The whole content. Error kind Io: "cannot read PATH: permission denied".
Result<std::vector<uint8_t>> read_file(const std::string& path);
// The same into an existing buffer, whose capacity is reused.
Result<void> read_file(const std::string& path, std::vector<uint8_t>& content);

// Tells one content of a file from another without reading it.
struct FileStamp {
  uint64_t size = 0;
  int64_t mtime_ns = 0;  // time of the last change, since 1970
  bool operator==(const FileStamp&) const = default;
};

// Of a regular file, links followed. Error kind Io.
Result<FileStamp> stat_file(const std::string& path);

// A file open for reading at chosen offsets. Move-only; closes itself.
class InputFile {
 public:
  // Refuses folders and devices with kind Io.
  static Result<InputFile> open(const std::string& path);
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&& other) noexcept;
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  ~InputFile();

  // Both as they were at open().
  uint64_t size() const { return stamp_.size; }
  const FileStamp& stamp() const { return stamp_; }
  // Fills `into` from `offset`; returns the bytes read, fewer only at the end of the file.
  Result<size_t> read_at(uint64_t offset, std::span<uint8_t> into) const;

 private:
  InputFile(std::string path, int descriptor);
  std::string path_;
  int descriptor_ = -1;
  FileStamp stamp_;
};

// Writes `path` completely or not at all. Throws Io (with a hint for a full disk, a read-only
// folder, missing rights). Without commit() the destructor removes the temporary file. A link stays
// and the file behind it is written; devices and pipes are written directly, not replaced.
class AtomicFile {
 public:
  // Creates `.<name>.tmp-<pid>` in the folder of `path`.
  explicit AtomicFile(std::string path);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  void write(std::span<const uint8_t> bytes);
  void write(std::string_view text);
  // fsync, rename over `path`, fsync of the folder.
  void commit();

 private:
  std::string path_;
  std::string temporary_path_;
  int descriptor_ = -1;
};

// AtomicFile in one call.
void write_file(const std::string& path, std::span<const uint8_t> bytes);
void write_file(const std::string& path, std::string_view text);

// A log that grows line by line (log.jsonl, metrics.csv). Each line reaches the operating system in
// one write; nothing is buffered. Throws Io.
class AppendFile {
 public:
  // Creates the file or continues it.
  explicit AppendFile(std::string path);
  AppendFile(AppendFile&& other) noexcept;
  AppendFile& operator=(AppendFile&& other) noexcept;
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;
  ~AppendFile();

  // Adds the line feed.
  void write_line(std::string_view line);
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  int descriptor_ = -1;
};

// Names an object of the file system, whatever path leads to it.
struct FileId {
  uint64_t device = 0, inode = 0;
  auto operator<=>(const FileId&) const = default;
};

enum class EntryKind { File, Directory, DanglingLink, Link, Other };

struct DirectoryEntry {
  std::string name;
  EntryKind kind = EntryKind::Other;  // of what a link points to; Link where it was not followed
  FileId id;                          // of folders; nothing else is asked for it
};

// Without "." and "..", in code-point order. Links are followed, but those whose name `skip_link`
// is true of: finding out what a link leads to takes as long as reading its name. Error kind Io.
Result<std::vector<DirectoryEntry>> list_directory(
    const std::string& path, const std::function<bool(std::string_view name)>& skip_link = {});

struct FileStatus {
  EntryKind kind = EntryKind::Other;
  FileId id;
  uint64_t size = 0;
  int64_t mtime_ns = 0, ctime_ns = 0;  // of the content, of content or attributes; since 1970
};

// A folder held open, so that its many files can be asked about by name alone. Move-only.
class FolderHandle {
 public:
  static Result<FolderHandle> open(const std::string& path);
  FolderHandle(FolderHandle&& other) noexcept;
  FolderHandle& operator=(FolderHandle&& other) noexcept;
  FolderHandle(const FolderHandle&) = delete;
  FolderHandle& operator=(const FolderHandle&) = delete;
  ~FolderHandle();

  // Of the folder itself.
  FileStatus status() const;
  // `name` may be a path from here on. Of what a link leads to; DanglingLink where that is nothing,
  // Other for a name that has gone.
  FileStatus status_of(const char* name) const;
  // The same, but Link for a link, wherever it leads.
  FileStatus own_status_of(const char* name) const;
  // Where a link leads, as it is written in it; empty for what is no link. Valid while `buffer` is.
  std::string_view link_target(const char* name, std::span<char> buffer) const;

 private:
  explicit FolderHandle(int descriptor) : descriptor_(descriptor) {}
  int descriptor_ = -1;
};

// Nanoseconds since 1970 by the clock that dates files.
int64_t file_clock_ns();

struct DirectoryVisitor {
  // Whether to descend.
  std::function<bool(const std::string& relative, const DirectoryEntry&)> enter;
  // Everything that is not a directory.
  std::function<void(const std::string& relative, const DirectoryEntry&)> visit;
  // A folder that cannot be listed; the walk goes on.
  std::function<void(const std::string& relative, const Error&)> failed;
  // Of list_directory.
  std::function<bool(std::string_view name)> skip_link{};
  // Ends the walk as soon as it is true.
  std::function<bool()> is_done{};
};

// Depth first in code-point order; `relative` is the path below `root`. A folder that is its own
// ancestor through a link is not entered again. An unreadable `root` goes to failed("").
void walk_directory(const std::string& root, const DirectoryVisitor& visitor);

// The ids of a folder, links resolved, and of every folder above it: what a link in it must not
// lead to.
std::vector<FileId> folder_chain(const std::string& path);

bool path_exists(const std::string& path);
// Nothing is there; false when that cannot be known for want of rights.
bool is_missing(const std::string& path);
bool is_directory(const std::string& path);
bool is_regular_file(const std::string& path);

// With parents; fine when it exists. Throws Io.
void make_directories(const std::string& path);
// Throws what make_directories would, as far as rights and names tell beforehand; makes nothing.
void check_directories(const std::string& path);
// One folder whose parent exists; false when something of that name exists already. Throws Io.
bool make_new_directory(const std::string& path);
// Whether it was empty and is gone now.
bool remove_empty_directory(const std::string& path) noexcept;
// Fine when nothing is there. Throws Io.
void remove_file(const std::string& path);

// Absolute, links resolved, "." and ".." removed; parts that do not exist are kept as written.
std::string canonical_path(const std::string& path);
// Whether `path` is `folder` or lies below it, after canonical_path of both.
bool is_inside(const std::string& path, const std::string& folder);

// "a/b" from "a" and "b"; `name` alone when it is absolute or `folder` is empty.
std::string join_path(std::string_view folder, std::string_view name);
// The last part: "c.jpg" of "a/c.jpg"; trailing slashes do not count.
std::string_view base_name(std::string_view path);
// Everything before the last part, "." when there is none.
std::string parent_path(std::string_view path);
// In lower case without the dot: "jpg" of "a/UPPER.JPG"; "" for "a/.hidden" and "a/b".
std::string file_extension(std::string_view path);

// The path of the running program; empty when it cannot be known.
std::string executable_path();

}  // namespace pounce
