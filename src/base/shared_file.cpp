#include "base/shared_file.h"

#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

namespace pounce {

MappedBytes::~MappedBytes() {
  ::munmap(start_, mapped_);
}

SharedFile::SharedFile(std::string path, int descriptor)
    : path_(std::move(path)), descriptor_(descriptor) {}

SharedFile::SharedFile(SharedFile&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

SharedFile& SharedFile::operator=(SharedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

SharedFile::~SharedFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Error SharedFile::error(const char* verb, int error_number) const {
  return Error(ErrorKind::Io,
               fmt::format("cannot {} {}: {}", verb, path_, os_error_text(error_number)));
}

Result<SharedFile> SharedFile::open_with(const std::string& path, int flags) {
  constexpr mode_t kOwnerOnly = 0600;
  int descriptor = ::open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW, kOwnerOnly);
  SharedFile file(path, descriptor);
  if (descriptor < 0) return tl::make_unexpected(file.error("open", errno));
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) return tl::make_unexpected(file.error("open", errno));
  if (!S_ISREG(status.st_mode)) {
    return tl::make_unexpected(
        Error(ErrorKind::Io, fmt::format("cannot open {}: it is not a regular file", path)));
  }
  return file;
}

Result<SharedFile> SharedFile::open(const std::string& path) {
  return open_with(path, O_RDONLY);
}

Result<SharedFile> SharedFile::open_or_create(const std::string& path) {
  return open_with(path, O_RDWR | O_CREAT);
}

bool SharedFile::try_lock() {
  int status = 0;
  do {
    status = ::flock(descriptor_, LOCK_EX | LOCK_NB);
  } while (status != 0 && errno == EINTR);
  return status == 0;
}

bool SharedFile::is_at_its_path() const {
  struct stat here {
  }, there{};
  return ::fstat(descriptor_, &here) == 0 && ::lstat(path_.c_str(), &there) == 0 &&
         here.st_dev == there.st_dev && here.st_ino == there.st_ino;
}

Result<uint64_t> SharedFile::size() const {
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0) return tl::make_unexpected(error("read", errno));
  return uint64_t(status.st_size);
}

Result<size_t> SharedFile::read_at(uint64_t offset, std::span<uint8_t> into) const {
  size_t done = 0;
  while (done < into.size()) {
    ssize_t n = ::pread(descriptor_, into.data() + done, into.size() - done, off_t(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return tl::make_unexpected(error("read", errno));
    if (n == 0) break;
    done += size_t(n);
  }
  return done;
}

Result<void> SharedFile::write_at(uint64_t offset, std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    ssize_t n = ::pwrite(descriptor_, bytes.data(), bytes.size(), off_t(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return tl::make_unexpected(error("write", errno));
    offset += uint64_t(n);
    bytes = bytes.subspan(size_t(n));
  }
  return {};
}

Result<std::shared_ptr<const MappedBytes>> SharedFile::map(uint64_t offset, size_t length) const {
  Result<uint64_t> file_size = size();
  if (!file_size) return tl::make_unexpected(file_size.error());
  // Memory behind the end of a file is an access that kills the process.
  if (length == 0 || offset > *file_size || length > *file_size - offset) {
    return tl::make_unexpected(error("map", EINVAL));
  }
  uint64_t page = uint64_t(::sysconf(_SC_PAGESIZE));
  uint64_t begin = offset / page * page;
  size_t mapped = size_t(offset - begin) + length;
  void* start = ::mmap(nullptr, mapped, PROT_READ, MAP_SHARED, descriptor_, off_t(begin));
  if (start == MAP_FAILED) return tl::make_unexpected(error("map", errno));
  std::span<const uint8_t> bytes(static_cast<const uint8_t*>(start) + (offset - begin), length);
  return std::shared_ptr<const MappedBytes>(new MappedBytes(start, mapped, bytes));
}

}  // namespace pounce
