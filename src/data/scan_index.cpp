#include "data/scan_index.h"

#include <bit>
#include <cstring>

#include "base/cache_folder.h"
#include "base/checksum.h"

namespace pounce {
namespace {

static_assert(std::endian::native == std::endian::little, "index files are little-endian");

// To be raised with the layout of the file and with what the header readers accept.
constexpr uint32_t kVersion = 2;
constexpr uint64_t kEndMagic = 0x5845444e49434e50;  // "PNCINDEX"

// Last in the file: without it, the file was cut.
struct Footer {
  uint64_t table_offset = 0, table_bytes = 0, table_checksum = 0, magic = kEndMagic;
};

// A block is a front, so many records, and the text they refer to.
struct Front {
  FolderStamp stamp;
  uint64_t count = 0;
};
static_assert(sizeof(Front) == 32 && std::is_trivially_copyable_v<Front>);

struct Record {
  IndexStamp stamp;
  int32_t width = 0, height = 0;
  uint32_t text = 0;  // where name, reason and target begin, one behind the other
  uint16_t name_bytes = 0, reason_bytes = 0;
  ImageFormat format = ImageFormat::Unknown;
  uint16_t target_bytes = 0;
  IndexVerdict verdict = IndexVerdict::Usable;
  uint8_t padding = 0;
};
static_assert(sizeof(Record) == 56 && std::is_trivially_copyable_v<Record>);

template <typename T>
T load(std::span<const uint8_t> bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

template <typename T>
void append(std::vector<uint8_t>& bytes, const T& value) {
  const auto* begin = reinterpret_cast<const uint8_t*>(&value);
  bytes.insert(bytes.end(), begin, begin + sizeof value);
}

void append_text(std::vector<uint8_t>& bytes, std::string_view text) {
  append(bytes, uint32_t(text.size()));
  bytes.insert(bytes.end(), text.begin(), text.end());
}

// Takes values off the front of a table; false at its end.
class TableReader {
 public:
  explicit TableReader(std::span<const uint8_t> bytes) : bytes_(bytes) {}
  template <typename T>
  bool take(T& value) {
    if (bytes_.size() < sizeof value) return false;
    value = load<T>(bytes_, 0);
    bytes_ = bytes_.subspan(sizeof value);
    return true;
  }
  bool take(std::string& text) {
    uint32_t n = 0;
    if (!take(n) || bytes_.size() < n) return false;
    text.assign(bytes_.begin(), bytes_.begin() + n);
    bytes_ = bytes_.subspan(n);
    return true;
  }
  bool is_done() const { return bytes_.empty(); }

 private:
  std::span<const uint8_t> bytes_;
};

// "JPEG PNG": what this program can decode here and now.
std::string codecs() {
  std::string names;
  constexpr int kLast = int(ImageFormat::Pnm);
  for (int i = 0; i <= kLast; ++i) {
    auto format = ImageFormat(i);
    if (can_decode(format)) names += std::string(format_name(format)) + " ";
  }
  return names;
}

std::vector<uint8_t> encode_block(const FolderStamp& stamp, const IndexEntries& entries) {
  std::vector<uint8_t> bytes;
  std::string text;
  append(bytes, Front{stamp, entries.size()});
  for (const auto& [name, entry] : entries) {
    std::string_view reason = std::string_view(entry.reason).substr(0, UINT16_MAX);
    append(bytes, Record{entry.stamp, entry.width, entry.height, uint32_t(text.size()),
                         uint16_t(name.size()), uint16_t(reason.size()), entry.format,
                         uint16_t(entry.target.size()), entry.verdict, 0});
    text += name;
    text += reason;
    text += entry.target;
  }
  bytes.insert(bytes.end(), text.begin(), text.end());
  return bytes;
}

}  // namespace

std::shared_ptr<const IndexBlock> IndexBlock::decode(std::vector<uint8_t> bytes) {
  if (bytes.size() < sizeof(Front)) return nullptr;
  auto front = load<Front>(bytes, 0);
  if (front.count > (bytes.size() - sizeof front) / sizeof(Record)) return nullptr;
  auto block = std::make_shared<IndexBlock>();
  block->stamp_ = front.stamp;
  block->count_ = size_t(front.count);
  size_t text_bytes = bytes.size() - sizeof front - block->count_ * sizeof(Record);
  for (size_t i = 0; i < block->count_; ++i) {
    auto record = load<Record>(bytes, sizeof front + i * sizeof(Record));
    size_t end =
        size_t(record.text) + record.name_bytes + record.reason_bytes + record.target_bytes;
    if (end > text_bytes) return nullptr;
  }
  block->bytes_ = std::move(bytes);
  return block;
}

std::string_view IndexBlock::name(size_t i) const {
  auto record = load<Record>(bytes_, sizeof(Front) + i * sizeof(Record));
  size_t text = sizeof(Front) + count_ * sizeof(Record) + record.text;
  return {reinterpret_cast<const char*>(bytes_.data()) + text, record.name_bytes};
}

std::optional<IndexEntry> IndexBlock::find(std::string_view wanted, size_t& hint) const {
  bool is_behind = hint > 0 && name(hint - 1) >= wanted;
  size_t low = is_behind ? 0 : hint, high = count_;
  if (low < count_ && name(low) >= wanted) high = low;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (name(middle) < wanted) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  hint = low;
  if (low == count_ || name(low) != wanted) return std::nullopt;
  hint = low + 1;
  auto record = load<Record>(bytes_, sizeof(Front) + low * sizeof(Record));
  const char* reason = name(low).data() + record.name_bytes;
  return IndexEntry{record.stamp,
                    record.width,
                    record.height,
                    record.format,
                    record.verdict,
                    std::string(reason, record.reason_bytes),
                    std::string(reason + record.reason_bytes, record.target_bytes)};
}

// The file in the making: blocks as they come, then the table.
struct ScanIndex::Writer {
  explicit Writer(const std::string& path) : file(path) {}

  void add(const std::string& folder, std::span<const uint8_t> block) {
    places[folder] = {offset, block.size(), xxh3_64(block)};
    write(block);
  }
  void write(std::span<const uint8_t> bytes) {
    file.write(bytes);
    offset += bytes.size();
  }

  AtomicFile file;
  uint64_t offset = 0;
  std::map<std::string, Place> places;
  bool has_failed = false;
};

ScanIndex::ScanIndex(const std::string& cache, const std::string& root)
    : root_(canonical_path(root)) {
  CacheHeader header{.kind = "index", .version = kVersion, .root = root_, .rule = ""};
  bool is_too_long = root_.size() > kMostCacheHeaderBytes / 2;
  if (cache.empty() || is_too_long || is_inside(cache, root_)) return;
  path_ = cache_file_path(cache, header);
  header_ = encode_cache_header(header);
  if (!open()) places_.clear();
}

ScanIndex::~ScanIndex() {
  commit();
}

bool ScanIndex::open() {
  Result<InputFile> file = InputFile::open(path_);
  if (!file || file->size() < header_.size() + sizeof(Footer)) return false;
  std::vector<uint8_t> head(header_.size()), tail(sizeof(Footer));
  uint64_t footer_at = file->size() - tail.size();
  if (file->read_at(0, head).value_or(0) != head.size() || head != header_) return false;
  if (file->read_at(footer_at, tail).value_or(0) != tail.size()) return false;
  auto footer = load<Footer>(tail, 0);
  if (footer.magic != kEndMagic || footer.table_bytes > footer_at ||
      footer.table_offset != footer_at - footer.table_bytes) {
    return false;
  }
  std::vector<uint8_t> table(size_t(footer.table_bytes));
  if (file->read_at(footer.table_offset, table).value_or(0) != table.size()) return false;
  if (xxh3_64(table) != footer.table_checksum || !read_table(std::move(table))) return false;
  file_ = std::move(*file);
  mark_cache_file_used(path_);
  return true;
}

bool ScanIndex::read_table(std::vector<uint8_t> bytes) {
  TableReader table(bytes);
  std::string version;
  if (!table.take(version) || version != POUNCE_VERSION || !table.take(codecs_)) return false;
  while (!table.is_done()) {
    std::string folder;
    Place place;
    if (!table.take(folder) || !table.take(place)) return false;
    places_.emplace(std::move(folder), place);
  }
  return true;
}

bool ScanIndex::has_same_codecs() const {
  return file_ && codecs_ == codecs();
}

std::vector<uint8_t> ScanIndex::read_block(const Place& place) const {
  if (place.offset > file_->size() || place.bytes > file_->size() - place.offset) return {};
  std::vector<uint8_t> bytes(size_t(place.bytes));
  Result<size_t> got = file_->read_at(place.offset, bytes);
  bool is_good = got && *got == bytes.size() && xxh3_64(bytes) == place.checksum;
  return is_good ? bytes : std::vector<uint8_t>();
}

std::shared_ptr<const IndexBlock> ScanIndex::find(const std::string& folder) const {
  auto found = places_.find(folder);
  if (found == places_.end() || !file_) return nullptr;
  return IndexBlock::decode(read_block(found->second));
}

void ScanIndex::put(const std::string& folder, const FolderStamp& stamp,
                    const IndexEntries& entries) {
  if (!is_kept() || (writer_ && writer_->has_failed)) return;
  try {
    if (!writer_) {
      make_cache_folder(parent_path(path_));
      if (!may_replace_cache_file(path_)) {
        path_.clear();
        return;
      }
      writer_ = std::make_unique<Writer>(path_);
      writer_->write(header_);
    }
    writer_->add(folder, encode_block(stamp, entries));
  } catch (const Error&) {
    // A full disk or a folder that is not ours: the scan goes on without an index.
    if (writer_) {
      writer_->has_failed = true;
    } else {
      path_.clear();
    }
  }
}

void ScanIndex::write_unchanged() {
  if (!file_ || !has_same_codecs()) return;
  for (const auto& [folder, place] : places_) {
    if (writer_->places.contains(folder)) continue;
    if (!is_directory(folder.empty() ? root_ : join_path(root_, folder))) continue;
    std::vector<uint8_t> bytes = read_block(place);
    if (!bytes.empty()) writer_->add(folder, bytes);
  }
}

void ScanIndex::commit() noexcept {
  if (!writer_ || writer_->has_failed) return;
  try {
    write_unchanged();
    std::vector<uint8_t> table;
    append_text(table, POUNCE_VERSION);
    append_text(table, codecs());
    for (const auto& [folder, place] : writer_->places) {
      append_text(table, folder);
      append(table, place);
    }
    std::vector<uint8_t> footer;
    append(footer, Footer{writer_->offset, table.size(), xxh3_64(table), kEndMagic});
    writer_->write(table);
    writer_->write(footer);
    writer_->file.commit();
  } catch (...) {
    // As in put().
  }
  writer_.reset();
}

}  // namespace pounce
