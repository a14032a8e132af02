#include "base/file.h"

#include <cerrno>
#include <climits>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace pounce {
namespace {

Error read_error(const std::string& path, int error_number) {
  return Error(ErrorKind::Io, fmt::format("cannot read {}: {}", path, os_error_text(error_number)));
}

Result<FileStamp> stamp_of(const std::string& path, const struct stat& status) {
  if (S_ISDIR(status.st_mode)) return tl::make_unexpected(read_error(path, EISDIR));
  if (!S_ISREG(status.st_mode)) {
    return tl::make_unexpected(
        Error(ErrorKind::Io, fmt::format("cannot read {}: it is not a regular file", path)));
  }
  int64_t seconds = status.st_mtim.tv_sec, nanoseconds = status.st_mtim.tv_nsec;
  return FileStamp{uint64_t(status.st_size), seconds * 1'000'000'000 + nanoseconds};
}

std::string write_hint(int error_number) {
  switch (error_number) {
    case ENOSPC:
    case EDQUOT:
      return "free some space or choose another folder";
    case EACCES:
    case EPERM:
      return "check the rights of the folder or choose another one";
    case EROFS:
      return "the file system is read-only; choose another folder";
    case ENOENT:
      return "create the folder first";
    default:
      return "";
  }
}

[[noreturn]] void fail_write(const std::string& path, int error_number) {
  fail_with_hint(ErrorKind::Io, write_hint(error_number), "cannot write {}: {}", path,
                 os_error_text(error_number));
}

void write_fully(int descriptor, std::span<const uint8_t> bytes, const std::string& path) {
  while (!bytes.empty()) {
    ssize_t n = ::write(descriptor, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail_write(path, errno);
    bytes = bytes.subspan(size_t(n));
  }
}

std::span<const uint8_t> as_bytes(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

// After a rename the entry itself must reach the disk. Some file systems cannot sync a folder
// (EINVAL); the rename is still atomic there.
void sync_folder(const std::string& path) {
  int folder = ::open(parent_path(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  int status = ::fsync(folder);
  int error_number = errno;
  ::close(folder);
  if (status != 0 && error_number != EINVAL && error_number != ENOTSUP) {
    fail_write(path, error_number);
  }
}

// The path that a chain of links ends at, whether or not something is there: a rename over `path`
// itself would replace the link.
std::string behind_links(std::string path) {
  constexpr int kMostLinks = 40;  // as Linux
  for (int i = 0; i < kMostLinks; ++i) {
    char target[PATH_MAX];
    ssize_t n = ::readlink(path.c_str(), target, sizeof target);
    if (n <= 0 || n == ssize_t(sizeof target)) return path;
    path = join_path(parent_path(path), std::string_view(target, size_t(n)));
  }
  fail_write(path, ELOOP);
}

}  // namespace

std::string os_error_text(int error_number) {
  switch (error_number) {
    case ENOENT:
      return "no such file or folder";
    case EACCES:
    case EPERM:
      return "permission denied";
    case ENOSPC:
      return "no space left on device";
    case EDQUOT:
      return "disk quota exceeded";
    case EROFS:
      return "read-only file system";
    case EISDIR:
      return "it is a folder";
    case ENOTDIR:
      return "a part of the path is not a folder";
    case ELOOP:
      return "too many symbolic links, or a cycle of them";
    case ENAMETOOLONG:
      return "the name is too long";
    case EMFILE:
    case ENFILE:
      return "too many open files";
    case EIO:
      return "input/output error of the device";
    case EEXIST:
      return "it exists already";
  }
  char buffer[128];
  // The GNU form: returns the text, which need not lie in the buffer.
  return strerror_r(error_number, buffer, sizeof buffer);
}

Result<FileStamp> stat_file(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return tl::make_unexpected(read_error(path, errno));
  return stamp_of(path, status);
}

InputFile::InputFile(std::string path, int descriptor)
    : path_(std::move(path)), descriptor_(descriptor) {}

InputFile::InputFile(InputFile&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      stamp_(other.stamp_) {}

InputFile& InputFile::operator=(InputFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(stamp_, other.stamp_);
  return *this;
}

InputFile::~InputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<InputFile> InputFile::open(const std::string& path) {
  // O_NONBLOCK: a FIFO with a picture's name must not hang the scan.
  int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return tl::make_unexpected(read_error(path, errno));
  InputFile file(path, descriptor);
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) return tl::make_unexpected(read_error(path, errno));
  Result<FileStamp> stamp = stamp_of(path, status);
  if (!stamp) return tl::make_unexpected(stamp.error());
  file.stamp_ = *stamp;
  return file;
}

Result<size_t> InputFile::read_at(uint64_t offset, std::span<uint8_t> into) const {
  size_t done = 0;
  while (done < into.size()) {
    ssize_t n = ::pread(descriptor_, into.data() + done, into.size() - done, off_t(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return tl::make_unexpected(read_error(path_, errno));
    if (n == 0) break;
    done += size_t(n);
  }
  return done;
}

Result<void> read_file(const std::string& path, std::vector<uint8_t>& content) {
  Result<InputFile> file = InputFile::open(path);
  if (!file) return tl::make_unexpected(file.error());
  try {
    content.resize(size_t(file->size()));
  } catch (const std::exception&) {
    return tl::make_unexpected(Error(
        ErrorKind::OutOfMemory,
        fmt::format("cannot read {}: its {} bytes do not fit into memory", path, file->size()),
        "check that it is the file you mean"));
  }
  Result<size_t> n = file->read_at(0, content);
  if (!n) return tl::make_unexpected(n.error());
  content.resize(*n);
  return {};
}

Result<std::vector<uint8_t>> read_file(const std::string& path) {
  std::vector<uint8_t> content;
  if (Result<void> done = read_file(path, content); !done) {
    return tl::make_unexpected(done.error());
  }
  return content;
}

AtomicFile::AtomicFile(std::string path) : path_(std::move(path)) {
  struct stat status {};
  bool exists = ::stat(path_.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) fail_write(path_, EISDIR);
  if (exists && !S_ISREG(status.st_mode)) {
    // A rename would put a file in the place of /dev/null, or of a pipe that is being read.
    // Without waiting: a pipe that nobody reads is an error, not a pause without end.
    descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor_ < 0) fail_write(path_, errno);
    ::fcntl(descriptor_, F_SETFL, ::fcntl(descriptor_, F_GETFL) & ~O_NONBLOCK);
    return;
  }
  path_ = behind_links(path_);
  std::string name = fmt::format(".{}.tmp-{}", base_name(path_), ::getpid());
  temporary_path_ = join_path(parent_path(path_), name);
  descriptor_ = ::open(temporary_path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor_ < 0) fail_write(path_, errno);
}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_path_.empty()) ::unlink(temporary_path_.c_str());
}

void AtomicFile::write(std::span<const uint8_t> bytes) {
  POUNCE_ASSERT(descriptor_ >= 0);
  write_fully(descriptor_, bytes, path_);
}

void AtomicFile::write(std::string_view text) {
  write(as_bytes(text));
}

void AtomicFile::commit() {
  POUNCE_ASSERT(descriptor_ >= 0);
  if (temporary_path_.empty()) {
    if (::close(std::exchange(descriptor_, -1)) != 0) fail_write(path_, errno);
    return;
  }
  if (::fsync(descriptor_) != 0 && errno != EINVAL) fail_write(path_, errno);
  // Network file systems report a full disk at close.
  if (::close(std::exchange(descriptor_, -1)) != 0) fail_write(path_, errno);
  if (::rename(temporary_path_.c_str(), path_.c_str()) != 0) fail_write(path_, errno);
  temporary_path_.clear();
  sync_folder(path_);
}

void write_file(const std::string& path, std::span<const uint8_t> bytes) {
  AtomicFile file(path);
  file.write(bytes);
  file.commit();
}

void write_file(const std::string& path, std::string_view text) {
  write_file(path, as_bytes(text));
}

AppendFile::AppendFile(std::string path) : path_(std::move(path)) {
  descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (descriptor_ < 0) fail_write(path_, errno);
}

AppendFile::AppendFile(AppendFile&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

AppendFile& AppendFile::operator=(AppendFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

AppendFile::~AppendFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void AppendFile::write_line(std::string_view line) {
  std::string text(line);
  text += '\n';
  write_fully(descriptor_, as_bytes(text), path_);
}

}  // namespace pounce
