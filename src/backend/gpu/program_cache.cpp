#include "backend/gpu/program_cache.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "base/cache_folder.h"
#include "base/checksum.h"
#include "base/error.h"
#include "base/file.h"

namespace pounce {
namespace {

constexpr std::string_view kKind = "kernels";
constexpr uint32_t kVersion = 1;

// What follows the header; the text and the binary follow it.
struct Front {
  uint64_t text_bytes = 0;
  uint64_t binary_bytes = 0;
  uint64_t checksum = 0;  // of text and binary
};

CacheHeader header_of(const ProgramKey& key) {
  return {.kind = std::string(kKind),
          .version = kVersion,
          .root = "",
          .rule = fmt::format("{}\n{}\n{}\n{}\n{:016x}", key.device, key.driver, key.options,
                              POUNCE_VERSION, xxh3_64(key.text))};
}

std::span<const uint8_t> bytes_of(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

std::optional<std::vector<uint8_t>> decode(const ProgramKey& key, std::span<const uint8_t> file) {
  std::optional<DecodedCacheHeader> head =
      decode_cache_header(file.first(std::min(file.size(), kMostCacheHeaderBytes)));
  if (!head || head->header != header_of(key)) return std::nullopt;
  std::span<const uint8_t> rest = file.subspan(head->bytes);
  Front front;
  if (rest.size() < sizeof front) return std::nullopt;
  std::memcpy(&front, rest.data(), sizeof front);
  rest = rest.subspan(sizeof front);
  bool fits = front.text_bytes == key.text.size() && front.text_bytes <= rest.size() &&
              front.binary_bytes == rest.size() - front.text_bytes;
  if (!fits || xxh3_64(rest) != front.checksum) return std::nullopt;
  // Not by its hash alone: nothing else may ever run in a program's place.
  if (!std::ranges::equal(rest.first(key.text.size()), bytes_of(key.text))) return std::nullopt;
  rest = rest.subspan(key.text.size());
  return std::vector<uint8_t>(rest.begin(), rest.end());
}

}  // namespace

ProgramCache::ProgramCache(std::string folder, uint64_t limit_bytes)
    : folder_(std::move(folder)), limit_bytes_(limit_bytes) {}

std::optional<std::vector<uint8_t>> ProgramCache::load(const ProgramKey& key) const {
  if (folder_.empty()) return std::nullopt;
  std::string path = cache_file_path(folder_, header_of(key));
  Result<std::vector<uint8_t>> file = read_file(path);
  if (!file) return std::nullopt;
  std::optional<std::vector<uint8_t>> binary = decode(key, *file);
  if (binary) mark_cache_file_used(path);
  return binary;
}

void ProgramCache::store(const ProgramKey& key, std::span<const uint8_t> binary) const {
  if (folder_.empty() || binary.empty()) return;
  CacheHeader header = header_of(key);
  std::vector<uint8_t> content(bytes_of(key.text).begin(), bytes_of(key.text).end());
  content.insert(content.end(), binary.begin(), binary.end());
  Front front{key.text.size(), binary.size(), xxh3_64(content)};
  try {
    make_cache_folder(folder_);
    std::string path = cache_file_path(folder_, header);
    if (!may_replace_cache_file(path)) return;
    AtomicFile file(path);
    file.write(encode_cache_header(header));
    file.write(std::span(reinterpret_cast<const uint8_t*>(&front), sizeof front));
    file.write(content);
    file.commit();
    trim();
  } catch (const Error&) {
    // A full disk or a folder without rights costs time at the next start, nothing else.
  }
}

void ProgramCache::trim() const {
  std::vector<CacheFile> files = list_cache_files(folder_);
  std::erase_if(files, [](const CacheFile& file) { return file.header.kind != kKind; });
  std::ranges::sort(files, {}, &CacheFile::last_used_ns);
  uint64_t total = 0;
  for (const CacheFile& file : files) total += file.bytes;
  for (const CacheFile& file : files) {
    if (total <= limit_bytes_) return;
    if (remove_cache_file(file.path)) total -= file.bytes;
  }
}

}  // namespace pounce
