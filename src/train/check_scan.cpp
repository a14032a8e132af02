#include "train/check_scan.h"

#include <algorithm>
#include <set>

#include "base/cache_folder.h"
#include "base/checksum.h"
#include "base/file.h"
#include "base/text.h"
#include "data/folder_form.h"
#include "data/header_scan.h"
#include "data/scan_meter.h"
#include "data/tree_walk.h"

namespace pounce {
namespace {

ScanObserver to_scan_observer(const CheckObserver& observer) {
  if (!observer) return {};
  // Headers are a small part of the work, so that only the listing counts here.
  return [&observer](const ScanCount& at) {
    if (at.total == 0) observer(at.files, 0);
  };
}

CheckScan from_dataset(ImageFolder&& found) {
  CheckScan scan;
  scan.root = found.root;
  scan.classes = found.classes;
  scan.images = {found.train, found.val, found.test};
  for (const ClassCounts& counts : found.class_counts) {
    scan.skipped_by_class.push_back(counts.skipped);
  }
  scan.skipped = std::move(found.skipped);
  scan.ignored = std::move(found.ignored);
  scan.unsupported_formats = std::move(found.unsupported_formats);
  scan.empty_classes = std::move(found.empty_classes);
  scan.notes = std::move(found.notes);
  scan.notes.insert(scan.notes.end(), found.warnings.begin(), found.warnings.end());
  return scan;
}

// Takes every image below the folder, by its path alone.
class PathScanner {
 public:
  PathScanner(const CheckConfig& config, const CheckObserver& observer, const std::stop_token& stop)
      : config_(config), stop_(stop), meter_(to_scan_observer(observer)) {}

  CheckScan run() {
    find_root();
    TreeWalk tree({.root = scan_.root,
                   .tops = {""},
                   .threads = config_.workers,
                   .stop = stop_,
                   .progress = meter_.listing()});
    scan_.ignored = tree.ignored;
    scan_.skipped = tree.unlisted;
    take_files(tree);
    sort_classes();
    ScanIndex index(cache_folder(), scan_.root);
    for (SampleList& list : scan_.images) read_headers(list, index);
    std::sort(scan_.skipped.begin(), scan_.skipped.end(),
              [](const SkippedFile& a, const SkippedFile& b) { return a.path < b.path; });
    return std::move(scan_);
  }

 private:
  // Below a wrapper folder, where the form is clear enough.
  void find_root() {
    scan_.root = config_.data;
    try {
      FolderForm form = find_folder_form({config_.data, config_.labels, {}, "pounce check", stop_});
      scan_.root = form.root;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::Config) throw;
    }
  }

  void take_files(const TreeWalk& tree) {
    tree.for_each([&](size_t, const std::string& path) {
      std::string_view rest = path;
      size_t split = 0;
      size_t slash = rest.find('/');
      if (slash != rest.npos) {
        if (auto named = split_of_folder(rest.substr(0, slash))) {
          split = *named == Split::Train ? 0 : *named == Split::Val ? 1 : 2;
          rest.remove_prefix(slash + 1);
          slash = rest.find('/');
        }
      }
      int32_t label = slash == rest.npos ? -1 : label_of(rest.substr(0, slash));
      scan_.images[split].push_back(path, label, xxh3_64(path));
    });
    for (const SampleList& list : scan_.images) meter_.add_listed(list.size());
  }

  int32_t label_of(std::string_view folder) {
    std::string name = to_nfc(folder);
    auto [found, is_new] = labels_.emplace(name, int32_t(scan_.classes.size()));
    if (is_new) scan_.classes.push_back(name);
    return found->second;
  }

  void sort_classes() {
    std::vector<int32_t> new_label(scan_.classes.size());
    int32_t next = 0;
    for (const auto& [name, label] : labels_) {
      scan_.classes[size_t(next)] = name;
      new_label[size_t(label)] = next++;
    }
    for (SampleList& list : scan_.images) {
      for (size_t i = 0; i < list.size(); ++i) {
        if (list.label(i) >= 0) list.set_label(i, new_label[size_t(list.label(i))]);
      }
    }
    scan_.skipped_by_class.assign(scan_.classes.size(), 0);
  }

  void read_headers(SampleList& list, ScanIndex& index) {
    HeaderScan found =
        scan_headers(list, index, {.root = scan_.root, .threads = config_.workers, .stop = stop_});
    list = found.samples;
    scan_.skipped.insert(scan_.skipped.end(), found.skipped.begin(), found.skipped.end());
    for (int32_t label : found.skipped_labels) {
      if (label >= 0) ++scan_.skipped_by_class[size_t(label)];
    }
    for (const auto& [name, count] : found.unsupported_formats) {
      scan_.unsupported_formats[name] += count;
    }
  }

  const CheckConfig& config_;
  const std::stop_token& stop_;
  ScanMeter meter_;
  CheckScan scan_;
  std::map<std::string, int32_t> labels_;
};

}  // namespace

CheckScan scan_for_check(const CheckConfig& config, const CheckObserver& observer,
                         const std::stop_token& stop) {
  require_folder(config.data, "pounce check");
  ScanOptions options{.root = config.data,
                      .labels = config.labels,
                      .threads = config.workers,
                      .cache_folder = cache_folder(),
                      .progress = to_scan_observer(observer),
                      .stop = stop};
  std::optional<TrainRefusal> refusal;
  // What training says by itself, then what it takes when it is told to skip unusable files.
  for (OnBad on_bad : {OnBad::Auto, OnBad::Skip}) {
    options.on_bad = on_bad;
    try {
      CheckScan scan = from_dataset(scan_dataset(options));
      scan.refusal = refusal;
      return scan;
    } catch (const Error& error) {
      bool is_about_folder = error.kind() == ErrorKind::Config || error.kind() == ErrorKind::Io;
      if (!is_about_folder) throw;
      if (!refusal) refusal = TrainRefusal{error.message(), error.hint()};
    }
  }
  CheckScan scan = PathScanner(config, observer, stop).run();
  scan.refusal = refusal;
  return scan;
}

}  // namespace pounce
