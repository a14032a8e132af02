#include "base/cache_folder.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/checksum.h"
#include "base/file.h"

namespace pounce {
namespace {

static_assert(std::endian::native == std::endian::little, "cache files are little-endian");

constexpr std::array<char, 8> kMagic = {'P', 'O', 'U', 'N', 'C', 'E', '\n', '\0'};
constexpr size_t kUnit = 64;

// The fields of fixed size; root and rule follow.
struct Front {
  std::array<char, 8> magic = kMagic;
  std::array<char, 8> kind{};  // zero-terminated
  uint32_t version = 0;
  uint32_t bytes = 0;  // of the whole header
  uint32_t root_bytes = 0, rule_bytes = 0;
  uint64_t checksum = 0;  // of the whole header with 0 in this place
};
static_assert(sizeof(Front) == 40);

// What the paths of the environment become; relative ones are not for $XDG_CACHE_HOME.
std::string from_environment(const char* variable, std::string_view below, bool must_be_absolute) {
  const char* value = std::getenv(variable);
  if (value == nullptr || *value == '\0') return "";
  if (must_be_absolute && *value != '/') return "";
  return below.empty() ? std::string(value) : join_path(value, below);
}

// Closes itself.
struct Descriptor {
  explicit Descriptor(int value) : fd(value) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
  int fd;
};

// The first bytes of a regular file that is no link; empty for everything else.
std::vector<uint8_t> head_of(const std::string& path, struct stat* status) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
  if (file.fd < 0 || ::fstat(file.fd, status) != 0 || !S_ISREG(status->st_mode)) return {};
  std::vector<uint8_t> head(kMostCacheHeaderBytes);
  ssize_t n = ::pread(file.fd, head.data(), head.size(), 0);
  head.resize(size_t(std::max<ssize_t>(0, n)));
  return head;
}

}  // namespace

std::vector<uint8_t> encode_cache_header(const CacheHeader& header) {
  Front front;
  POUNCE_ASSERT(!header.kind.empty() && header.kind.size() < front.kind.size());
  std::copy(header.kind.begin(), header.kind.end(), front.kind.begin());
  front.version = header.version;
  front.root_bytes = uint32_t(header.root.size());
  front.rule_bytes = uint32_t(header.rule.size());
  size_t used = sizeof front + header.root.size() + header.rule.size();
  front.bytes = uint32_t((used + kUnit - 1) / kUnit * kUnit);
  POUNCE_ASSERT(front.bytes <= kMostCacheHeaderBytes);
  std::vector<uint8_t> bytes(front.bytes, 0);
  std::memcpy(bytes.data(), &front, sizeof front);
  auto end = std::copy(header.root.begin(), header.root.end(), bytes.begin() + sizeof front);
  std::copy(header.rule.begin(), header.rule.end(), end);
  front.checksum = xxh3_64(bytes);
  std::memcpy(bytes.data(), &front, sizeof front);
  return bytes;
}

bool has_cache_magic(std::span<const uint8_t> head) {
  return head.size() >= kMagic.size() && std::equal(kMagic.begin(), kMagic.end(), head.begin());
}

std::optional<DecodedCacheHeader> decode_cache_header(std::span<const uint8_t> head) {
  Front front;
  if (!has_cache_magic(head) || head.size() < sizeof front) return std::nullopt;
  std::memcpy(&front, head.data(), sizeof front);
  uint64_t used = sizeof front + uint64_t{front.root_bytes} + front.rule_bytes;
  bool fits = front.bytes <= head.size() && used <= front.bytes && front.kind.back() == '\0';
  if (!fits) return std::nullopt;
  std::vector<uint8_t> bytes(head.begin(), head.begin() + front.bytes);
  Front without_sum = front;
  without_sum.checksum = 0;
  std::memcpy(bytes.data(), &without_sum, sizeof without_sum);
  if (xxh3_64(bytes) != front.checksum) return std::nullopt;
  const char* text = reinterpret_cast<const char*>(bytes.data()) + sizeof front;
  return DecodedCacheHeader{
      .header = {.kind = front.kind.data(),
                 .version = front.version,
                 .root = std::string(text, front.root_bytes),
                 .rule = std::string(text + front.root_bytes, front.rule_bytes)},
      .bytes = front.bytes};
}

std::string cache_folder() {
  std::string folder = from_environment("POUNCE_CACHE_DIR", "", false);
  if (folder.empty()) folder = from_environment("XDG_CACHE_HOME", "pounce", true);
  if (folder.empty()) folder = from_environment("HOME", ".cache/pounce", true);
  return folder;
}

void make_cache_folder(const std::string& folder) {
  if (is_directory(folder)) return;
  constexpr const char* kHint = "set POUNCE_CACHE_DIR to a folder that you may write to";
  try {
    make_directories(parent_path(folder));
  } catch (const Error& error) {
    fail_with_hint(error.kind(), kHint, "no cache folder {}: {}", folder, error.message());
  }
  if (::mkdir(folder.c_str(), 0700) == 0 || is_directory(folder)) return;
  int error_number = errno == EEXIST ? ENOTDIR : errno;
  fail_with_hint(ErrorKind::Io, kHint, "no cache folder {}: {}", folder,
                 os_error_text(error_number));
}

std::string cache_file_path(const std::string& folder, const CacheHeader& header) {
  uint64_t name = xxh3_64(header.root + '\0' + header.rule);
  return join_path(folder, fmt::format("{}-{:016x}.pounce", header.kind, name));
}

std::vector<CacheFile> list_cache_files(const std::string& folder) {
  std::vector<CacheFile> files;
  Result<std::vector<DirectoryEntry>> entries = list_directory(folder);
  if (!entries) return files;
  for (const DirectoryEntry& entry : *entries) {
    CacheFile file;
    file.path = join_path(folder, entry.name);
    struct stat status {};
    std::vector<uint8_t> head = head_of(file.path, &status);
    if (!has_cache_magic(head)) continue;
    if (auto decoded = decode_cache_header(head)) file.header = decoded->header;
    constexpr uint64_t kBlock = 512;  // the unit of st_blocks, whatever the file system's
    file.bytes = uint64_t(status.st_blocks) * kBlock;
    file.last_used_ns =
        int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + int64_t{status.st_mtim.tv_nsec};
    files.push_back(std::move(file));
  }
  return files;
}

bool may_replace_cache_file(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return errno == ENOENT;
  if (!S_ISREG(status.st_mode)) return false;
  return status.st_size == 0 || has_cache_magic(head_of(path, &status));
}

void mark_cache_file_used(const std::string& path) {
  ::utimensat(AT_FDCWD, path.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
}

bool remove_cache_file(const std::string& path) {
  struct stat status {};
  if (!has_cache_magic(head_of(path, &status))) return false;
  remove_file(path);
  return true;
}

}  // namespace pounce
