#include "data/header_scan.h"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <optional>
#include <thread>

#include "base/file.h"
#include "base/parallel.h"
#include "base/system.h"
#include "data/header.h"
#include "data/status_reader.h"

namespace pounce {
namespace {

// So many files are looked at before what was found out about them is put away.
constexpr size_t kBatchFiles = 16384;
// A share of a folder for one thread.
constexpr size_t kPieceFiles = 2048;
// Times of files may be this coarse: a file that was changed less than so long ago may change again
// without its times showing it.
constexpr int64_t kCoarsestClock_ns = 2'000'000'000;

enum class Finding : uint8_t { Usable, Skipped, LinkedFolder };

// What is known of a file so far.
struct Judgement {
  FileStatus status;
  Finding finding = Finding::Usable;
  bool is_known = false;     // from the index
  bool is_readable = false;  // what was found depends on the content alone
  ImageFormat unsupported_format = ImageFormat::Unknown;
  int32_t width = 0, height = 0;
  SkipKind kind = SkipKind::Damaged;
  std::string reason;
  std::string target;  // of a link
};

IndexStamp stamp_of(const FileStatus& status) {
  return {status.size, status.id.inode, status.mtime_ns, status.ctime_ns};
}

Judgement recall(const FileStatus& status, IndexEntry&& entry) {
  Judgement known;
  known.status = status;
  known.target = std::move(entry.target);
  known.is_known = known.is_readable = true;
  known.width = entry.width;
  known.height = entry.height;
  if (entry.verdict == IndexVerdict::Usable) return known;
  known.finding = Finding::Skipped;
  bool is_unsupported = entry.verdict == IndexVerdict::Unsupported;
  known.kind = is_unsupported ? SkipKind::Unsupported : SkipKind::Damaged;
  known.unsupported_format = is_unsupported ? entry.format : ImageFormat::Unknown;
  known.reason = std::move(entry.reason);
  return known;
}

IndexEntry to_entry(const Judgement& found) {
  IndexEntry entry{stamp_of(found.status), found.width,  found.height, found.unsupported_format,
                   IndexVerdict::Usable,   found.reason, found.target};
  if (found.finding == Finding::Skipped) {
    entry.verdict =
        found.kind == SkipKind::Unsupported ? IndexVerdict::Unsupported : IndexVerdict::Damaged;
  }
  return entry;
}

class HeaderScanner {
 public:
  HeaderScanner(SampleList files, ScanIndex& index, const HeaderScanOptions& options)
      : files_(std::move(files)),
        index_(index),
        options_(options),
        now_ns_(options.now_ns != 0 ? options.now_ns : file_clock_ns()),
        caller_(std::this_thread::get_id()) {}

  HeaderScan run() {
    group_by_folder();
    for (size_t folder = 0; folder + 1 < begins_.size();) {
      size_t first = folder, end = begins_[folder];
      while (folder + 1 < begins_.size() && end - begins_[first] < kBatchFiles) {
        end = begins_[++folder];
      }
      scan_folders(first, folder);
    }
    return collect();
  }

 private:
  // One folder of a batch.
  struct Folder {
    std::string path;  // "cat/"
    std::optional<FolderHandle> handle;
    FolderStamp stamp;
    std::shared_ptr<const IndexBlock> block;
    bool is_unchanged = false;  // since the block was made
    size_t begin = 0, end = 0;  // into order_
  };
  // What the name before suggests about the next.
  struct Neighbour {
    std::string target;  // of a link
    size_t hint = 0;     // of IndexBlock::find
  };
  struct Piece {
    const Folder* folder = nullptr;
    size_t begin = 0, end = 0;  // into order_
  };
  struct Skip {
    uint32_t file = 0;
    Judgement found;
  };

  void group_by_folder() {
    begins_.assign(files_.folders() + 1, 0);
    for (size_t i = 0; i < files_.size(); ++i) ++begins_[files_.folder_number(i) + 1];
    std::partial_sum(begins_.begin(), begins_.end(), begins_.begin());
    order_.resize(files_.size());
    std::vector<size_t> next = begins_;
    for (size_t i = 0; i < files_.size(); ++i) {
      order_[next[files_.folder_number(i)]++] = uint32_t(i);
    }
  }

  // Folders [first, end) of the list.
  void scan_folders(size_t first, size_t end) {
    std::vector<Folder> folders;
    for (size_t i = first; i < end; ++i) {
      if (begins_[i] == begins_[i + 1]) continue;
      Folder& folder = folders.emplace_back();
      folder.path = files_.folder(order_[begins_[i]]);
      folder.begin = begins_[i];
      folder.end = begins_[i + 1];
    }
    if (folders.empty()) return;
    batch_begin_ = folders.front().begin;
    judgements_.assign(folders.back().end - batch_begin_, {});
    open(folders);
    recall_known(folders);
    read_unknown();
    for (const Folder& folder : folders) update_index(folder);
    apply();
  }

  Judgement& at(size_t place) { return judgements_[place - batch_begin_]; }

  void open(std::vector<Folder>& folders) {
    for_each_parallel(
        threads_for(folders.size() * kFilesWorthAThread), folders.size(), [&](size_t i) {
          Folder& folder = folders[i];
          Result<FolderHandle> handle = FolderHandle::open(
              folder.path.empty() ? options_.root : join_path(options_.root, folder.path));
          if (handle) {
            FileStatus status = handle->status();
            folder.stamp = {status.id.inode, status.mtime_ns, status.ctime_ns};
            folder.handle = std::move(*handle);
          }
          folder.block = index_.find(folder.path);
          folder.is_unchanged = folder.block && folder.block->stamp() == folder.stamp;
        });
  }

  void recall_known(const std::vector<Folder>& folders) {
    std::vector<Piece> pieces;
    for (const Folder& folder : folders) {
      for (size_t at = folder.begin; at < folder.end; at += kPieceFiles) {
        pieces.push_back({&folder, at, std::min(folder.end, at + kPieceFiles)});
      }
    }
    for_each_parallel(threads_for(judgements_.size()), pieces.size(), [&](size_t i) {
      const Piece& piece = pieces[i];
      if (!piece.folder->handle) return;
      Neighbour before;
      for (size_t place = piece.begin; place < piece.end; ++place) {
        if (options_.stop.stop_requested()) fail(ErrorKind::Interrupted, "stopped");
        recall(*piece.folder, place, before);
      }
      report();
    });
  }

  void recall(const Folder& folder, size_t place, Neighbour& before) {
    std::string name(files_.name(order_[place]));
    Judgement& found = at(place);
    std::optional<IndexEntry> entry;
    if (folder.block) entry = folder.block->find(name, before.hint);
    if (folder.is_unchanged && entry && !entry->target.empty()) {
      found.target = entry->target;
      found.status = statuses_.behind_link(*folder.handle, folder.path, name, entry->target);
    } else {
      found.status = statuses_.status_of(*folder.handle, folder.path, name, before.target);
      found.target = before.target;
    }
    if (found.status.kind != EntryKind::File || !entry) return;
    if (entry->stamp != stamp_of(found.status)) return;
    bool is_void = entry->verdict == IndexVerdict::Unsupported && !index_.has_same_codecs();
    if (is_void) return;
    entry->target = std::move(found.target);
    found = pounce::recall(found.status, std::move(*entry));
    ++done_;
  }

  void read_unknown() {
    std::vector<size_t> unknown;
    for (size_t i = 0; i < judgements_.size(); ++i) {
      if (!judgements_[i].is_known) unknown.push_back(batch_begin_ + i);
    }
    for_each_parallel(threads_for(unknown.size()), unknown.size(), [&](size_t i) {
      if (options_.stop.stop_requested()) fail(ErrorKind::Interrupted, "stopped");
      examine(files_.path(order_[unknown[i]]), at(unknown[i]));
      ++done_;
      report();
    });
  }

  void examine(const std::string& path, Judgement& found) const {
    if (found.status.kind == EntryKind::Directory) {
      found.finding = Finding::LinkedFolder;
      return;
    }
    if (found.status.kind == EntryKind::DanglingLink) {
      found.finding = Finding::Skipped;
      found.kind = SkipKind::Unreadable;
      found.reason = "the link leads nowhere";
      return;
    }
    Result<ImageHeader> header =
        read_image_header(join_path(options_.root, path), &found.unsupported_format);
    found.is_readable = header || header.error().kind() != ErrorKind::Io;
    if (header) {
      found.width = header->width;
      found.height = header->height;
      return;
    }
    SkippedFile skipped = skipped_file(path, header.error());
    found.finding = Finding::Skipped;
    found.kind = skipped.kind;
    found.reason = std::move(skipped.reason);
  }

  void update_index(const Folder& folder) {
    if (!index_.is_kept()) return;
    size_t kept = 0;
    bool has_new = false;
    IndexEntries entries;
    for (size_t place = folder.begin; place < folder.end; ++place) {
      const Judgement& found = at(place);
      int64_t changed_ns = std::max(found.status.mtime_ns, found.status.ctime_ns);
      bool is_settled = changed_ns < now_ns_ - kCoarsestClock_ns;
      bool is_worth_it = found.is_known ||
                         (found.status.kind == EntryKind::File && found.is_readable && is_settled);
      if (!is_worth_it) continue;
      kept += found.is_known ? 1 : 0;
      has_new = has_new || !found.is_known;
      entries.emplace_back(files_.name(order_[place]), to_entry(found));
    }
    size_t before = folder.block ? folder.block->size() : 0;
    int64_t changed_ns = std::max(folder.stamp.mtime_ns, folder.stamp.ctime_ns);
    bool is_settled = changed_ns < now_ns_ - kCoarsestClock_ns;
    bool has_links = std::any_of(entries.begin(), entries.end(),
                                 [](const auto& entry) { return !entry.second.target.empty(); });
    bool is_stale = has_links && is_settled && !folder.is_unchanged;
    if (has_new || is_stale || kept != before) {
      index_.put(folder.path, is_settled ? folder.stamp : FolderStamp(), entries);
    }
  }

  void apply() {
    for (size_t i = 0; i < judgements_.size(); ++i) {
      uint32_t file = order_[batch_begin_ + i];
      Judgement& found = judgements_[i];
      if (found.finding == Finding::Usable) {
        files_.set_extents(file, found.width, found.height);
      } else {
        skips_.push_back({file, std::move(found)});
      }
    }
  }

  HeaderScan collect() {
    HeaderScan scan;
    std::sort(skips_.begin(), skips_.end(),
              [](const Skip& a, const Skip& b) { return a.file < b.file; });
    for (Skip& skip : skips_) {
      if (skip.found.finding == Finding::LinkedFolder) {
        ++scan.linked_folders;
        continue;
      }
      std::string path = files_.path(skip.file);
      if (options_.stop_at_first_bad) {
        fail_with_hint(ErrorKind::BadData, "repair or remove the file, or use --on-bad skip",
                       "{} is {}: {}", join_path(options_.root, path),
                       skip_kind_name(skip.found.kind), skip.found.reason);
      }
      if (skip.found.unsupported_format != ImageFormat::Unknown) {
        ++scan.unsupported_formats[std::string(format_name(skip.found.unsupported_format))];
      }
      scan.skipped.push_back({std::move(path), skip.found.kind, std::move(skip.found.reason)});
      scan.skipped_labels.push_back(files_.label(skip.file));
    }
    scan.samples = skips_.empty() ? files_ : files_.part(usable_files());
    return scan;
  }

  std::vector<uint32_t> usable_files() const {
    std::vector<uint32_t> usable;
    usable.reserve(files_.size() - skips_.size());
    size_t next = 0;
    for (uint32_t i = 0; i < files_.size(); ++i) {
      bool is_skipped = next < skips_.size() && skips_[next].file == i;
      next += is_skipped;
      if (!is_skipped) usable.push_back(i);
    }
    return usable;
  }

  int threads_for(size_t files) const {
    size_t wanted = size_t(options_.threads > 0 ? options_.threads : usable_cores());
    return int(std::min(wanted, files / kFilesWorthAThread + 1));
  }

  void report() const {
    if (!options_.progress || std::this_thread::get_id() != caller_) return;
    options_.progress({done_, int64_t(files_.size())});
  }

  static constexpr size_t kFilesWorthAThread = 32;

  SampleList files_;
  ScanIndex& index_;
  const HeaderScanOptions& options_;
  const int64_t now_ns_;
  const std::thread::id caller_;
  std::vector<size_t> begins_;         // of each folder in order_; one more at the end
  std::vector<uint32_t> order_;        // the files, folder by folder
  size_t batch_begin_ = 0;             // into order_
  std::vector<Judgement> judgements_;  // of the batch
  std::vector<Skip> skips_;
  StatusReader statuses_;
  std::atomic<int64_t> done_ = 0;
};

}  // namespace

SkippedFile skipped_file(const std::string& path, const Error& error) {
  SkipKind kind = SkipKind::Damaged;
  if (error.kind() == ErrorKind::Io) kind = SkipKind::Unreadable;
  if (error.kind() == ErrorKind::Unsupported) kind = SkipKind::Unsupported;
  std::string reason = error.message();
  // "cannot read /long/way/x.jpg: permission denied": the path stands beside already.
  size_t at = reason.find(path + ": ");
  if (kind == SkipKind::Unreadable && at != std::string::npos) {
    reason = reason.substr(at + path.size() + 2);
  }
  return {path, kind, reason};
}

HeaderScan scan_headers(SampleList files, ScanIndex& index, const HeaderScanOptions& options) {
  return HeaderScanner(std::move(files), index, options).run();
}

}  // namespace pounce
