#include "data/image_file.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <limits>
#include <thread>
#include <utility>

#include "base/checksum.h"
#include "base/file.h"

namespace pounce {
namespace {

constexpr size_t kSlots = 1024;  // of a block; the last one is the link
constexpr uint64_t kSlotBytes = 64;
constexpr uint64_t kBlockBytes = kSlots * kSlotBytes;

uint64_t round_up(uint64_t bytes) {
  return (bytes + kSlotBytes - 1) / kSlotBytes * kSlotBytes;
}

enum SlotKind : uint32_t { kBytesSlot = 1, kPixelsSlot = 2, kLinkSlot = 3 };

}  // namespace

struct ImageFile::Slot {
  uint64_t id = 0, file_size = 0;
  int64_t mtime_ns = 0;
  uint64_t offset = 0;  // of a link: of the next block
  uint64_t payload_checksum = 0;
  uint32_t length = 0, width = 0, height = 0, kind = 0;
  uint64_t checksum = 0;  // of all before it

  std::span<const uint8_t> bytes() const {
    return {reinterpret_cast<const uint8_t*>(this), sizeof *this};
  }
  uint64_t own_checksum() const { return xxh3_64(bytes().first(offsetof(Slot, checksum))); }
  bool is_empty() const {
    return std::all_of(bytes().begin(), bytes().end(), [](uint8_t byte) { return byte == 0; });
  }
  bool is_whole() const { return checksum == own_checksum(); }
};

ImageFile::ImageFile(SharedFile file, CacheHeader header, uint64_t first_block, bool can_write)
    : file_(std::move(file)),
      header_(std::move(header)),
      can_write_(can_write),
      block_(first_block) {
  static_assert(sizeof(Slot) == kSlotBytes);
}

// The header comes with the first block: a file is empty or can be read.
Result<void> ImageFile::begin(SharedFile& file, const CacheHeader& header) {
  std::vector<uint8_t> start = encode_cache_header(header);
  start.resize(start.size() + kBlockBytes, 0);
  return file.write_at(0, start);
}

Result<std::unique_ptr<ImageFile>> ImageFile::open(const std::string& path,
                                                   const CacheHeader& header) {
  // Another process may be making, or replacing, the file at this moment.
  constexpr int kAttempts = 20;
  constexpr std::chrono::milliseconds kPause(10);
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    Result<SharedFile> file = SharedFile::open_or_create(path);
    bool can_write = file.has_value();
    if (!can_write) {
      Error why = file.error();
      file = SharedFile::open(path);
      if (!file) return tl::make_unexpected(why);
    }
    bool is_locked = can_write && file->try_lock();
    if (is_locked && !file->is_at_its_path()) continue;
    std::vector<uint8_t> head(kMostCacheHeaderBytes);
    Result<size_t> n = file->read_at(0, head);
    if (!n) return tl::make_unexpected(n.error());
    if (*n == 0 && is_locked) {
      if (Result<void> done = begin(*file, header); !done) return tl::make_unexpected(done.error());
      n = file->read_at(0, head);
    }
    head.resize(n.value_or(0));
    std::optional<DecodedCacheHeader> found = decode_cache_header(head);
    if (found && found->header == header) {
      std::unique_ptr<ImageFile> result(
          new ImageFile(std::move(*file), header, found->bytes, can_write));
      // The lock is held already; this reads up to where the file ends.
      if (is_locked) result->is_writer_ = true;
      return result;
    }
    if (!head.empty() && !has_cache_magic(head)) {
      return tl::make_unexpected(Error(
          ErrorKind::Io, fmt::format("{} is not a cache file of Pounce; it is left alone", path)));
    }
    if (is_locked) {
      remove_cache_file(path);
    } else {
      std::this_thread::sleep_for(kPause);
    }
  }
  return tl::make_unexpected(
      Error(ErrorKind::Io, fmt::format("{} is of another version of Pounce, which uses it", path)));
}

Result<std::unique_ptr<ImageFile>> ImageFile::replace() {
  POUNCE_ASSERT(is_writer());
  remove_cache_file(file_.path());
  return open(file_.path(), header_);
}

std::vector<ImageRecord> ImageFile::try_become_writer() {
  if (is_writer() || !can_write_ || !file_.try_lock()) return {};
  // Records for a file that has been replaced would serve nobody.
  can_write_ = file_.is_at_its_path();
  if (!can_write_) return {};
  // What the last writer stored comes first; append() must not begin before its end is known.
  std::vector<ImageRecord> records = read_new();
  is_writer_ = true;
  return records;
}

std::vector<ImageRecord> ImageFile::read_new() {
  std::lock_guard lock(mutex_);
  std::vector<ImageRecord> records;
  if (Result<uint64_t> size = file_.size()) size_ = *size;
  // Most calls find nothing: one record is asked for first.
  size_t wanted = 1;
  while (!is_broken_ && read_slots(std::min(wanted, kSlots - place_), records)) wanted = kSlots;
  // A block may have been cut short by the end of its writer; it is not for payloads all the same.
  end_ = std::max({end_, round_up(size_), block_ + kBlockBytes});
  return records;
}

// False at the end of what has been written.
bool ImageFile::read_slots(size_t count, std::vector<ImageRecord>& records) {
  std::vector<Slot> slots(count);
  std::span<uint8_t> into(reinterpret_cast<uint8_t*>(slots.data()), count * kSlotBytes);
  Result<size_t> n = file_.read_at(block_ + place_ * kSlotBytes, into);
  if (!n) return false;
  // What is missing at the end of the file counts as empty.
  std::fill(into.begin() + int64_t(*n), into.end(), uint8_t{0});
  return std::all_of(slots.begin(), slots.end(),
                     [&](const Slot& slot) { return take(slot, records); });
}

// Goes one place on. False where nothing has been written yet.
bool ImageFile::take(const Slot& slot, std::vector<ImageRecord>& records) {
  if (slot.is_empty()) return false;
  if (place_ + 1 < kSlots) {
    if (auto record = to_record(slot)) records.push_back(*record);
    ++place_;
    return true;
  }
  bool leads_on = slot.is_whole() && slot.kind == kLinkSlot && slot.offset > block_ &&
                  slot.offset <= size_ && kBlockBytes <= size_ - slot.offset;
  is_broken_ = !leads_on;
  if (!leads_on) return false;
  block_ = slot.offset;
  place_ = 0;
  return true;
}

std::optional<ImageRecord> ImageFile::to_record(const Slot& slot) const {
  bool is_known = slot.kind == kBytesSlot || slot.kind == kPixelsSlot;
  bool is_inside = slot.offset <= size_ && slot.length <= size_ - slot.offset;
  if (!slot.is_whole() || !is_known || !is_inside) return std::nullopt;
  CachedKind kind = slot.kind == kPixelsSlot ? CachedKind::Pixels : CachedKind::Bytes;
  bool has_its_size =
      kind == CachedKind::Bytes || uint64_t{slot.width} * slot.height * 3 == slot.length;
  if (!has_its_size) return std::nullopt;
  return ImageRecord{.id = slot.id,
                     .stamp = {slot.file_size, slot.mtime_ns},
                     .kind = kind,
                     .width = int32_t(slot.width),
                     .height = int32_t(slot.height),
                     .offset = slot.offset,
                     .length = slot.length,
                     .checksum = slot.payload_checksum};
}

Result<void> ImageFile::write_slot(const Slot& slot) {
  Slot whole = slot;
  whole.checksum = whole.own_checksum();
  return file_.write_at(block_ + place_ * kSlotBytes, whole.bytes());
}

Result<void> ImageFile::add_block() {
  uint64_t next = end_;
  end_ += kBlockBytes;
  if (Result<void> done = file_.write_at(next, std::vector<uint8_t>(kBlockBytes, 0)); !done) {
    return done;
  }
  Slot link;
  link.kind = kLinkSlot;
  link.offset = next;
  if (Result<void> done = write_slot(link); !done) return done;
  block_ = next;
  place_ = 0;
  return {};
}

Result<void> ImageFile::commit(const ImageRecord& record) {
  if (place_ + 1 == kSlots) {
    if (Result<void> done = add_block(); !done) return done;
  }
  Slot slot;
  slot.id = record.id;
  slot.file_size = record.stamp.size;
  slot.mtime_ns = record.stamp.mtime_ns;
  slot.offset = record.offset;
  slot.payload_checksum = record.checksum;
  slot.length = record.length;
  slot.width = uint32_t(record.width);
  slot.height = uint32_t(record.height);
  slot.kind = record.kind == CachedKind::Pixels ? kPixelsSlot : kBytesSlot;
  if (Result<void> done = write_slot(slot); !done) return done;
  ++place_;
  return {};
}

std::optional<ImageRecord> ImageFile::append(ImageRecord record, std::span<const uint8_t> payload,
                                             uint64_t limit) {
  POUNCE_ASSERT(is_writer());
  if (payload.size() > std::numeric_limits<uint32_t>::max()) return std::nullopt;
  record.length = uint32_t(payload.size());
  {
    std::lock_guard lock(mutex_);
    uint64_t needed = round_up(payload.size());
    bool fits = end_ <= limit && needed <= limit - end_;
    if (is_broken_ || !write_error_.empty() || !fits) return std::nullopt;
    record.offset = std::exchange(end_, end_ + needed);
  }
  // Several threads write their payloads at once; records follow in the order they finish.
  record.checksum = xxh3_64(payload);
  Result<void> done = file_.write_at(record.offset, payload);
  std::lock_guard lock(mutex_);
  if (done && write_error_.empty()) done = commit(record);
  if (!done) write_error_ = done.error().message();
  if (!write_error_.empty()) return std::nullopt;
  return record;
}

std::string ImageFile::write_error() const {
  std::lock_guard lock(mutex_);
  return write_error_;
}

Result<std::vector<uint8_t>> ImageFile::read(const ImageRecord& record) const {
  std::vector<uint8_t> payload(record.length);
  Result<size_t> n = file_.read_at(record.offset, payload);
  if (!n) return tl::make_unexpected(n.error());
  payload.resize(*n);
  return payload;
}

Result<std::shared_ptr<const MappedBytes>> ImageFile::map(uint64_t begin, uint64_t end) const {
  return file_.map(begin, size_t(end - begin));
}

uint64_t ImageFile::end() const {
  std::lock_guard lock(mutex_);
  return end_;
}

bool ImageFile::is_broken() const {
  std::lock_guard lock(mutex_);
  return is_broken_;
}

uint64_t ImageFile::overhead_bytes(uint64_t images) {
  uint64_t blocks = images / (kSlots - 1) + 1;
  return kMostCacheHeaderBytes + blocks * kBlockBytes + images * kSlotBytes;
}

}  // namespace pounce
