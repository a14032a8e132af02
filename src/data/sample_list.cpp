#include "data/sample_list.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "base/error.h"

namespace pounce {
namespace {

// Where a name lies in the arena.
struct NamePlace {
  uint32_t block = 0, offset = 0;
};

// Strings of any bytes behind their length, in blocks that never move and leave little unused.
class NameArena {
 public:
  NamePlace add(std::string_view name) {
    uint32_t length = uint32_t(name.size());
    size_t needed = sizeof length + name.size();
    if (blocks_.empty() || blocks_.back().capacity() - blocks_.back().size() < needed) {
      blocks_.emplace_back().reserve(std::max(needed, blocks_.empty() ? kFirstBlock : kBlock));
    }
    std::vector<char>& block = blocks_.back();
    NamePlace place{uint32_t(blocks_.size() - 1), uint32_t(block.size())};
    const char* bytes = reinterpret_cast<const char*>(&length);
    block.insert(block.end(), bytes, bytes + sizeof length);
    block.insert(block.end(), name.begin(), name.end());
    return place;
  }

  std::string_view at(NamePlace place) const {
    const char* begin = blocks_[place.block].data() + place.offset;
    uint32_t length = 0;
    std::memcpy(&length, begin, sizeof length);
    return {begin + sizeof length, length};
  }

  size_t memory_bytes() const {
    size_t bytes = blocks_.capacity() * sizeof blocks_.front();
    for (const auto& block : blocks_) bytes += block.capacity();
    return bytes;
  }

 private:
  static constexpr size_t kFirstBlock = size_t{4} << 10, kBlock = size_t{256} << 10;
  std::vector<std::vector<char>> blocks_;
};

// "cat/2021/" and "x.jpg"; a path without a folder has an empty first part.
std::pair<std::string_view, std::string_view> split_path(std::string_view path) {
  size_t slash = path.rfind('/');
  size_t cut = slash == path.npos ? 0 : slash + 1;
  return {path.substr(0, cut), path.substr(cut)};
}

}  // namespace

struct SampleList::Entry {
  uint64_t id = 0;
  NamePlace name;
  uint32_t folder = 0;
  int32_t label = 0, width = 0, height = 0;
};

// In blocks, so that growing neither moves what is there nor reserves twice as much.
struct SampleList::Entries {
  static constexpr size_t kBlock = 8192;
  std::vector<std::vector<Entry>> blocks;
  size_t count = 0;

  const Entry& at(size_t i) const { return blocks[i / kBlock][i % kBlock]; }
  Entry& at(size_t i) { return blocks[i / kBlock][i % kBlock]; }
  void add(const Entry& entry) {
    if (count % kBlock == 0) {
      blocks.emplace_back();
      if (count > 0) blocks.back().reserve(kBlock);
    }
    blocks.back().push_back(entry);
    ++count;
  }
};

struct SampleList::Names {
  NameArena arena;
  std::vector<std::string> folders;  // with their last slash
  std::unordered_map<std::string, uint32_t> folder_index;
  uint32_t last_folder = 0;

  uint32_t index_of(std::string_view folder) {
    bool is_last = last_folder < folders.size() && folders[last_folder] == folder;
    if (is_last) return last_folder;
    auto [found, is_new] = folder_index.emplace(folder, uint32_t(folders.size()));
    if (is_new) folders.emplace_back(folder);
    return last_folder = found->second;
  }
};

SampleList::SampleList()
    : entries_(std::make_shared<Entries>()), names_(std::make_shared<Names>()) {}

SampleList::SampleList(const std::vector<Sample>& samples) : SampleList() {
  for (const Sample& sample : samples) push_back(sample);
}

size_t SampleList::size() const {
  return entries_->count;
}

const SampleList::Entry& SampleList::entry(size_t i) const {
  return entries_->at(i);
}

std::string_view SampleList::folder(size_t i) const {
  return names_->folders[entry(i).folder];
}

std::string_view SampleList::name(size_t i) const {
  return names_->arena.at(entry(i).name);
}

Sample SampleList::operator[](size_t i) const {
  const Entry& found = entry(i);
  return {path(i), found.label, found.id, found.width, found.height};
}

std::string SampleList::path(size_t i) const {
  std::string_view above = folder(i), last = name(i);
  std::string path;
  path.reserve(above.size() + last.size());
  path += above;
  path += last;
  return path;
}

int32_t SampleList::label(size_t i) const {
  return entry(i).label;
}

uint64_t SampleList::id(size_t i) const {
  return entry(i).id;
}

int32_t SampleList::width(size_t i) const {
  return entry(i).width;
}

int32_t SampleList::height(size_t i) const {
  return entry(i).height;
}

uint32_t SampleList::folder_number(size_t i) const {
  return entry(i).folder;
}

size_t SampleList::folders() const {
  return names_->folders.size();
}

bool SampleList::is_path_less(size_t a, size_t b) const {
  if (entry(a).folder == entry(b).folder) return name(a) < name(b);
  return path(a) < path(b);
}

void SampleList::make_own() {
  if (entries_.use_count() > 1) entries_ = std::make_shared<Entries>(*entries_);
}

void SampleList::add(std::string_view path, const Entry& entry) {
  POUNCE_ASSERT(size() < UINT32_MAX);
  make_own();
  if (names_.use_count() > 1) names_ = std::make_shared<Names>(*names_);
  auto [above, last] = split_path(path);
  Entry placed = entry;
  placed.name = names_->arena.add(last);
  placed.folder = names_->index_of(above);
  entries_->add(placed);
}

void SampleList::push_back(const Sample& sample) {
  add(sample.path, {sample.id, {}, 0, sample.label, sample.width, sample.height});
}

void SampleList::push_back(std::string_view path, int32_t label, uint64_t id) {
  add(path, {id, {}, 0, label, 0, 0});
}

void SampleList::append(const SampleList& other) {
  if (empty()) {
    *this = other;
    return;
  }
  for (size_t i = 0; i < other.size(); ++i) push_back(other[i]);
}

void SampleList::set_label(size_t i, int32_t label) {
  make_own();
  entries_->at(i).label = label;
}

void SampleList::replace_labels(std::span<const int32_t> by_label) {
  make_own();
  for (size_t i = 0; i < size(); ++i) {
    int32_t& label = entries_->at(i).label;
    label = by_label[size_t(label)];
  }
}

void SampleList::set_extents(size_t i, int32_t width, int32_t height) {
  make_own();
  entries_->at(i).width = width;
  entries_->at(i).height = height;
}

SampleList SampleList::part(std::span<const uint32_t> indices) const {
  SampleList list;
  list.names_ = names_;
  for (uint32_t i : indices) list.entries_->add(entry(i));
  return list;
}

size_t SampleList::memory_bytes() const {
  size_t bytes = names_->arena.memory_bytes();
  for (const auto& block : entries_->blocks) bytes += block.capacity() * sizeof(Entry);
  // Twice: in the table and as its key.
  for (const std::string& folder : names_->folders) {
    bytes += 2 * (sizeof folder + folder.capacity()) + 32;
  }
  return bytes;
}

}  // namespace pounce
