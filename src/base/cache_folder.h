// The folder in which Pounce keeps what it can make again: indices of scanned folders, cached
// images. $POUNCE_CACHE_DIR, else $XDG_CACHE_HOME/pounce, else ~/.cache/pounce; never a data
// folder. Every file in it begins with one header, so that all of them can be listed and nothing
// that Pounce did not write is ever removed. Files are unlinked or replaced by a rename, never
// truncated: another process may have them mapped.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace pounce {

struct CacheHeader {
  std::string kind;      // "index", "images": ASCII, 1 to 7 characters; begins the file's name
  uint32_t version = 0;  // of the kind's own format
  std::string root;      // canonical_path() of the data set
  std::string rule;      // what else the content depends on, such as "exif"; may be empty
  bool operator==(const CacheHeader&) const = default;
};

// Magic, lengths, the fields and a checksum over them, zeros to a multiple of 64 bytes.
std::vector<uint8_t> encode_cache_header(const CacheHeader& header);

// Longer headers do not exist; so many bytes of a file suffice for the two functions below.
constexpr size_t kMostCacheHeaderBytes = 16'384;

struct DecodedCacheHeader {
  CacheHeader header;
  size_t bytes = 0;  // where the content begins
};
// Nothing for a file of another program, and for a damaged header.
std::optional<DecodedCacheHeader> decode_cache_header(std::span<const uint8_t> head);
// Whether Pounce began to write the file: true for damaged headers as well.
bool has_cache_magic(std::span<const uint8_t> head);

// As the environment says; empty when it says nothing (no HOME). Makes nothing.
std::string cache_folder();
// With its parents, for this user alone (mode 0700); fine when it exists. Throws Io.
void make_cache_folder(const std::string& folder);
// "FOLDER/images-0123456789abcdef.pounce", from kind, root and rule.
std::string cache_file_path(const std::string& folder, const CacheHeader& header);

struct CacheFile {
  std::string path;
  CacheHeader header;        // with an empty root where the header is damaged
  uint64_t bytes = 0;        // on the disk; files may have holes
  int64_t last_used_ns = 0;  // since 1970: of the last change or mark_cache_file_used()
};

// Pounce's own files in `folder`, links left out, by path; none when there is no such folder.
std::vector<CacheFile> list_cache_files(const std::string& folder);
// Whether a new file may take the name: nothing is there, or a file that Pounce wrote or left
// empty. Not a link, and nothing of another program.
bool may_replace_cache_file(const std::string& path);
// Sets the time of last use to now, as far as the rights go.
void mark_cache_file_used(const std::string& path);
// False when the file has gone, or is not Pounce's. Throws Io.
bool remove_cache_file(const std::string& path);

}  // namespace pounce
