#include "train/check_pictures.h"

#include <algorithm>
#include <atomic>
#include <set>
#include <thread>
#include <tuple>

#include "base/checksum.h"
#include "base/file.h"
#include "base/parallel.h"
#include "base/system.h"
#include "data/decode.h"
#include "data/header_scan.h"

namespace pounce {
namespace {

CheckFile describe(const CheckScan& scan, const CheckedPicture& picture) {
  const SampleList& list = scan.images[picture.split];
  int32_t label = list.label(picture.index);
  return {list.path(picture.index), kSplitNames[picture.split],
          label < 0 ? "" : scan.classes[size_t(label)]};
}

// Fills in what the content says.
Result<void> read_picture(const std::string& path, CheckedPicture& picture) {
  std::vector<uint8_t> bytes;
  Result<InputFile> file = InputFile::open(path);
  if (!file) return tl::make_unexpected(file.error());
  if (auto refused = check_file_size(file->size())) return tl::make_unexpected(*refused);
  bytes.resize(size_t(file->size()));
  Result<size_t> got = file->read_at(0, bytes);
  if (!got) return tl::make_unexpected(got.error());
  bytes.resize(*got);
  Image image;
  Result<void> decoded = decode_image(bytes, image);
  // A lack of memory says nothing about the file.
  if (!decoded && decoded.error().kind() == ErrorKind::OutOfMemory) throw decoded.error();
  if (!decoded) return decoded;
  picture.content = xxh3_64(bytes);
  picture.bytes = bytes.size();
  picture.print = make_print(image);
  return {};
}

// Groups of equal content, each in the order of the list.
std::vector<std::vector<size_t>> equal_groups(std::span<const CheckedPicture> pictures) {
  std::vector<size_t> order(pictures.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  auto key = [&](size_t i) { return std::pair(pictures[i].content, pictures[i].bytes); };
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return std::tuple(key(a), a) < std::tuple(key(b), b); });
  std::vector<std::vector<size_t>> groups;
  for (size_t begin = 0; begin < order.size();) {
    size_t end = begin + 1;
    while (end < order.size() && key(order[end]) == key(order[begin])) ++end;
    if (end - begin > 1)
      groups.emplace_back(order.begin() + long(begin), order.begin() + long(end));
    begin = end;
  }
  return groups;
}

}  // namespace

PictureFindings read_pictures(const CheckScan& scan, int workers, const CheckObserver& observer,
                              const std::stop_token& stop) {
  PictureFindings findings;
  std::vector<CheckedPicture>& all = findings.pictures;
  for (size_t split = 0; split < scan.images.size(); ++split) {
    for (size_t i = 0; i < scan.images[split].size(); ++i) {
      all.push_back({.split = uint8_t(split), .index = uint32_t(i), .print = {}});
    }
  }
  std::vector<std::optional<SkippedFile>> skipped(all.size());
  std::atomic<int64_t> done = 0;
  std::thread::id caller = std::this_thread::get_id();
  for_each_parallel(workers, all.size(), [&](size_t i) {
    if (stop.stop_requested()) fail(ErrorKind::Interrupted, "stopped");
    std::string path = scan.images[all[i].split].path(all[i].index);
    Result<void> read = read_picture(join_path(scan.root, path), all[i]);
    if (!read) skipped[i] = skipped_file(path, read.error());
    ++done;
    if (observer && std::this_thread::get_id() == caller) observer(done, int64_t(all.size()));
  });
  size_t kept = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    if (!skipped[i]) {
      all[kept++] = all[i];
      continue;
    }
    findings.skipped_labels.emplace_back(all[i].split,
                                         scan.images[all[i].split].label(all[i].index));
    findings.skipped.push_back(std::move(*skipped[i]));
  }
  all.resize(kept);
  return findings;
}

std::vector<DuplicateGroup> find_duplicates(const CheckScan& scan,
                                            std::span<const CheckedPicture> pictures) {
  std::vector<DuplicateGroup> groups;
  for (const std::vector<size_t>& members : equal_groups(pictures)) {
    DuplicateGroup& group = groups.emplace_back();
    for (size_t i : members) group.files.push_back(describe(scan, pictures[i]));
    std::sort(group.files.begin(), group.files.end(),
              [](const CheckFile& a, const CheckFile& b) { return a.path < b.path; });
    for (const CheckFile& file : group.files) {
      group.is_across_splits |= file.split != group.files.front().split;
      group.is_across_classes |= file.class_name != group.files.front().class_name;
    }
  }
  std::sort(groups.begin(), groups.end(), [](const DuplicateGroup& a, const DuplicateGroup& b) {
    return a.files.front().path < b.files.front().path;
  });
  return groups;
}

std::vector<NearDuplicate> find_near_duplicates(const CheckScan& scan,
                                                std::span<const CheckedPicture> pictures) {
  // Of equal files one a split stands for all.
  std::vector<bool> is_left_out(pictures.size(), false);
  for (const std::vector<size_t>& members : equal_groups(pictures)) {
    std::set<uint8_t> seen;
    for (size_t i : members) is_left_out[i] = !seen.insert(pictures[i].split).second;
  }
  std::vector<uint32_t> searched;  // into pictures
  std::vector<uint64_t> hashes;
  for (uint32_t i = 0; i < pictures.size(); ++i) {
    if (is_left_out[i] || !has_structure(pictures[i].print)) continue;
    searched.push_back(i);
    hashes.push_back(pictures[i].print.hash);
  }
  HashSearch search(hashes);
  std::vector<NearDuplicate> found;
  std::vector<uint32_t> candidates;
  for (uint32_t i : searched) {
    const CheckedPicture& own = pictures[i];
    if (own.split == 0) continue;  // it is others' candidate
    candidates.clear();
    auto take = [&](uint32_t at) {
      const CheckedPicture& other = pictures[searched[at]];
      if (other.split < own.split && other.content != own.content) {
        candidates.push_back(searched[at]);
      }
    };
    search.for_each_near(own.print.hash, take);
    search.for_each_near(own.print.mirrored_hash, take);
    std::sort(candidates.begin(), candidates.end());
    for (uint32_t candidate : candidates) {
      Likeness likeness = compare_prints(pictures[candidate].print, own.print);
      if (likeness == Likeness::Different) continue;
      found.push_back({describe(scan, pictures[candidate]), describe(scan, own),
                       likeness == Likeness::Mirrored});
      break;
    }
  }
  std::sort(found.begin(), found.end(), [](const NearDuplicate& a, const NearDuplicate& b) {
    return std::tie(a.first.path, a.second.path) < std::tie(b.first.path, b.second.path);
  });
  return found;
}

}  // namespace pounce
