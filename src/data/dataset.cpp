#include "data/dataset.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/file.h"
#include "base/text.h"
#include "data/folder_form.h"
#include "data/header_scan.h"
#include "data/scan_meter.h"
#include "data/split_rule.h"

namespace pounce {
namespace {

// More than this share of a class unusable is a mistake to look at, not a few bad files.
constexpr double kMostUnusable = 0.10;

// One split of the folder after reading the headers.
struct ScannedSplit {
  SplitTree tree;
  HeaderScan scan;
};

std::vector<std::string> class_names(const SplitTree& train, std::vector<std::string>& empty) {
  std::vector<std::string> names;
  for (const ClassFolder& folder : train.classes) {
    (folder.files == 0 ? empty : names).push_back(folder.name);
  }
  return names;
}

std::optional<int32_t> label_of(const std::vector<std::string>& classes, const std::string& name) {
  auto found = std::find(classes.begin(), classes.end(), name);
  if (found == classes.end()) return std::nullopt;
  return int32_t(found - classes.begin());
}

// Labels of the files by `classes` in the place of the tree's.
void label_files(const FolderForm& form, SplitTree& tree, const std::vector<std::string>& classes) {
  std::vector<int32_t> labels(tree.classes.size(), -1);
  std::vector<std::string> unknown;
  for (size_t i = 0; i < labels.size(); ++i) {
    if (tree.classes[i].files == 0) continue;
    std::optional<int32_t> label = label_of(classes, tree.classes[i].name);
    labels[i] = label.value_or(-1);
    if (!label) unknown.push_back(tree.classes[i].name);
  }
  if (unknown.empty()) return tree.files.replace_labels(labels);
  std::string path = join_path(form.root, join_path(tree.folder, unknown.front()));
  std::string place = join_path(form.root, join_path(form.train, unknown.front()));
  fail_with_hint(ErrorKind::Config,
                 form.labels ? "label training images with it, too; then: " + form.typed.line
                             : fmt::format("put training images of it into {}/, or take {}/ out; "
                                           "then: {}",
                                           place, path, form.typed.line),
                 "{}/ holds {} that training has no images of: {} (training has {})",
                 join_path(form.root, tree.folder), unknown.size() == 1 ? "a class" : "classes",
                 list_some(unknown, 6), list_some(classes, 12));
}

void refuse_only_unsupported(const FolderForm& form, const HeaderScan& scan) {
  int64_t unsupported = 0;
  std::vector<std::string> words;
  for (const auto& [name, count] : scan.unsupported_formats) {
    unsupported += count;
    words.push_back(fmt::format("{} {}", group_digits(count), name));
  }
  if (unsupported == 0 || !scan.samples.empty()) return;
  fail_with_hint(ErrorKind::Config,
                 "convert them to JPEG or PNG, or install what they need; then: " + form.typed.line,
                 "{} holds no image that can be decoded: {}", form.root, list_some(words, 12));
}

// What the names of the only class's files suggest: " (the file names suggest ...)", or "".
std::string suggested_classes(const ImageFolder& dataset) {
  std::map<std::string, int64_t> counts;
  for (size_t i = 0; i < dataset.train.size(); ++i) {
    ++counts[class_suggested_by(dataset.train.path(i))];
  }
  std::vector<std::string> words;
  for (const auto& [name, count] : counts) {
    if (!name.empty() && count >= 2) words.push_back(fmt::format("{} {}", name, count));
  }
  if (words.size() < 2) return "";
  return fmt::format(" (the file names suggest {}: {})", words.size(), list_some(words, 6));
}

void require_two_classes(const FolderForm& form, const ImageFolder& dataset) {
  size_t n = dataset.classes.size();
  if (n >= 2) return;
  std::string empty =
      dataset.empty_classes.empty()
          ? ""
          : fmt::format("; without usable images: {}", list_some(dataset.empty_classes, 6));
  if (n == 0) {
    fail_with_hint(ErrorKind::Config, "put images into the class folders; then: " + form.typed.line,
                   "{} holds no usable images{}", form.root, empty);
  }
  std::string hint = "label images with another class, too; then: " + form.typed.line;
  std::string names = form.labels ? "" : suggested_classes(dataset);
  if (!form.labels) {
    hint = fmt::format("put images of another class into a folder beside {}/; then: {}",
                       join_path(form.root, join_path(form.train, dataset.classes.front())),
                       form.typed.line);
  }
  if (!names.empty()) hint = fmt::format("{} --labels names", form.typed.line);
  fail_with_hint(ErrorKind::Config, hint, "1 class ({}); a classifier needs 2 or more{}{}",
                 dataset.classes.front(), names, empty);
}

// "1.jpg (cut JPEG: no end marker), 2.jpg (the file is empty) and 4 more"
std::string describe_files(const std::vector<const SkippedFile*>& files) {
  std::vector<std::string> words;
  for (const SkippedFile* file : files) {
    words.push_back(fmt::format("{} ({})", base_name(file->path), file->reason));
  }
  return list_some(words, 3);
}

void refuse_bad_classes(const std::vector<std::string>& names,
                        const std::vector<const HeaderScan*>& scans) {
  struct Tally {
    int64_t usable = 0;
    std::vector<const SkippedFile*> bad;
  };
  std::vector<Tally> tallies(names.size());
  for (const HeaderScan* scan : scans) {
    for (size_t i = 0; i < scan->samples.size(); ++i) {
      ++tallies[size_t(scan->samples.label(i))].usable;
    }
    for (size_t i = 0; i < scan->skipped.size(); ++i) {
      tallies[size_t(scan->skipped_labels[i])].bad.push_back(&scan->skipped[i]);
    }
  }
  for (size_t i = 0; i < names.size(); ++i) {
    size_t bad = tallies[i].bad.size(), all = bad + size_t(tallies[i].usable);
    if (all == 0 || double(bad) <= kMostUnusable * double(all)) continue;
    fail_with_hint(ErrorKind::Config, "repair or remove them, or train without them: --on-bad skip",
                   "class {}: {} of {} files are unusable, more than {:.0f} %: {}", names[i], bad,
                   all, kMostUnusable * 100, describe_files(tallies[i].bad));
  }
}

void refuse_unlisted(const SplitTree& tree, OnBad on_bad) {
  if (tree.unlisted.empty() || on_bad == OnBad::Skip) return;
  fail_with_hint(ErrorKind::Io, "check the rights of the folder, or use --on-bad skip", "{}",
                 tree.unlisted.front().reason);
}

class DatasetScanner {
 public:
  explicit DatasetScanner(const ScanOptions& options)
      : options_(options),
        form_(find_folder_form({options.root, options.labels, {}, "pounce train", options.stop})),
        meter_(options.progress) {}

  ImageFolder run() {
    dataset_.root = form_.root;
    dataset_.notes = form_.notes;
    dataset_.ignored = form_.ignored;
    if (form_.has_splits() && form_.train.empty()) {
      const std::string& other = form_.val.empty() ? form_.test : form_.val;
      fail_with_hint(
          ErrorKind::Config,
          fmt::format("put training images into {}; or, if these are they: {}",
                      join_path(form_.root, "train/"), command_for(join_path(form_.root, other))),
          "{} holds {}/ but no train/", form_.root, other);
    }
    ScannedSplit train{list(form_.train), {}};
    std::vector<std::string> names = class_names(train.tree, dataset_.empty_classes);
    std::vector<ScannedSplit> others;
    drop_unlabelled_test();
    for (const std::string& folder : {form_.val, form_.test}) {
      others.push_back({folder.empty() ? SplitTree{} : list(folder), {}});
    }
    check_labels(others[0].tree);
    bool is_worth_it = meter_.listed() >= kFilesWorthAnIndex;
    index_.emplace(is_worth_it ? options_.cache_folder : "", form_.root);
    read_headers(train, names);
    refuse_only_unsupported(form_, train.scan);
    for (ScannedSplit& split : others) read_headers(split, names);
    index_->commit();
    note_ignored();
    if (options_.on_bad == OnBad::Auto) {
      refuse_bad_classes(names, {&train.scan, &others[0].scan, &others[1].scan});
    }
    collect(std::move(train), std::move(others), names);
    return std::move(dataset_);
  }

 private:
  static std::string command_for(const std::string& folder) {
    return "pounce train " + shell_word(folder);
  }

  // Test images that nobody has labelled are for `pounce predict`.
  void drop_unlabelled_test() {
    if (form_.test.empty() || form_.labels) return;
    std::string path = join_path(form_.root, form_.test);
    if (!is_flat(path, options_.stop)) return;
    dataset_.notes.push_back(
        fmt::format("{}/ has no class folders and is not used; to classify its images: pounce "
                    "predict MODEL {}",
                    path, shell_word(path)));
    form_.test.clear();
  }

  void check_labels(const SplitTree& val) {
    if (!form_.labels) return;
    LabelFindings findings = form_.labels->finish(form_.root, /*saw_all=*/true);
    auto append = [](std::vector<std::string>& to, const std::vector<std::string>& from) {
      to.insert(to.end(), from.begin(), from.end());
    };
    append(dataset_.notes, findings.notes);
    append(dataset_.warnings, findings.warnings);
    if (form_.val.empty() || !val.classes.empty()) return;
    fail_with_hint(ErrorKind::Config,
                   fmt::format("take the folder out, and validation images are held back by rule; "
                               "then: {}",
                               form_.typed.line),
                   "no image of {}/ has a label", join_path(form_.root, form_.val));
  }

  // "ignored: hidden file (2), runs folder (1)": what lay among the images and is none.
  void note_ignored() {
    std::vector<std::string> words, strays = stray_image_notes(dataset_.ignored);
    dataset_.notes.insert(dataset_.notes.end(), strays.begin(), strays.end());
    for (const auto& [reason, count] : dataset_.ignored) {
      if (reason == kOutsideClasses || reason == kOutsideSplits) continue;
      bool is_known = form_.labels && reason == form_.labels->reason_without_label();
      if (is_known) continue;  // what the labels say is said already
      words.push_back(fmt::format("{} ({})", reason, group_digits(count)));
    }
    if (!words.empty()) dataset_.notes.push_back("ignored: " + list_some(words, 12));
  }

  void read_headers(ScannedSplit& split, const std::vector<std::string>& names) {
    refuse_unlisted(split.tree, options_.on_bad);
    label_files(form_, split.tree, names);
    size_t files = split.tree.files.size();
    split.scan = scan_headers(std::exchange(split.tree.files, {}), *index_,
                              {.root = form_.root,
                               .stop_at_first_bad = options_.on_bad == OnBad::Stop,
                               .threads = options_.threads,
                               .progress = meter_.reading(),
                               .stop = options_.stop});
    meter_.add_read(files);
    if (split.scan.linked_folders > 0) {
      dataset_.ignored[kFolderLikeImage] += split.scan.linked_folders;
    }
  }

  SplitTree list(const std::string& folder) {
    SplitTree tree =
        list_split(form_, folder, dataset_.ignored, {options_.threads, meter_.listing()});
    meter_.add_listed(tree.files.size());
    return tree;
  }

  void collect(ScannedSplit train, std::vector<ScannedSplit> others,
               const std::vector<std::string>& names) {
    dataset_.train = std::move(train.scan.samples);
    dataset_.val = std::move(others[0].scan.samples);
    dataset_.test = std::move(others[1].scan.samples);
    drop_classes_without_images(names);
    require_two_classes(form_, dataset_);
    dataset_.layout = !form_.has_splits() ? Layout::ClassFolders
                      : form_.val.empty() ? Layout::TrainOnly
                                          : Layout::Splits;
    if (dataset_.layout != Layout::Splits) apply_rule();
    count_usable();
    for (const ScannedSplit* split : {&train, &others[0], &others[1]}) {
      collect_skipped(*split, names);
    }
    std::sort(dataset_.skipped.begin(), dataset_.skipped.end(),
              [](const SkippedFile& a, const SkippedFile& b) { return a.path < b.path; });
  }

  // A class whose every training image is unusable is none; the other labels close up.
  void drop_classes_without_images(const std::vector<std::string>& names) {
    std::vector<int64_t> counts(names.size(), 0);
    for (size_t i = 0; i < dataset_.train.size(); ++i) ++counts[size_t(dataset_.train.label(i))];
    std::vector<int32_t> new_label(names.size(), -1);
    for (size_t i = 0; i < names.size(); ++i) {
      if (counts[i] == 0) {
        dataset_.empty_classes.push_back(names[i]);
        continue;
      }
      new_label[i] = int32_t(dataset_.classes.size());
      dataset_.classes.push_back(names[i]);
    }
    std::sort(dataset_.empty_classes.begin(), dataset_.empty_classes.end());
    for (auto* list : {&dataset_.train, &dataset_.val, &dataset_.test}) {
      for (size_t i = 0; i < list->size(); ++i) {
        size_t label = size_t(list->label(i));
        if (new_label[label] < 0) {
          fail_with_hint(ErrorKind::Config, "repair the training images or remove the class",
                         "no training image of class {} is usable, but {} is to be evaluated",
                         names[label], list->path(i));
        }
        list->set_label(i, new_label[label]);
      }
    }
  }

  void apply_rule() {
    std::vector<bool> is_val = held_back(dataset_.train, form_.train, options_.val_fraction);
    std::vector<uint32_t> train, val;
    for (size_t i = 0; i < is_val.size(); ++i) (is_val[i] ? val : train).push_back(uint32_t(i));
    dataset_.val = dataset_.train.part(val);
    dataset_.train = dataset_.train.part(train);
    dataset_.split_by_rule = options_.val_fraction > 0;
    dataset_.val_fraction = options_.val_fraction;
  }

  void count_usable() {
    dataset_.class_counts.resize(dataset_.classes.size());
    auto count = [&](const SampleList& list, int64_t ClassCounts::*part) {
      for (size_t i = 0; i < list.size(); ++i) {
        ++(dataset_.class_counts[size_t(list.label(i))].*part);
      }
    };
    count(dataset_.train, &ClassCounts::train);
    count(dataset_.val, &ClassCounts::val);
    count(dataset_.test, &ClassCounts::test);
  }

  void collect_skipped(const ScannedSplit& split, const std::vector<std::string>& names) {
    for (size_t i = 0; i < split.scan.skipped.size(); ++i) {
      dataset_.skipped.push_back(split.scan.skipped[i]);
      const std::string& name = names[size_t(split.scan.skipped_labels[i])];
      if (auto label = label_of(dataset_.classes, name)) {
        ++dataset_.class_counts[size_t(*label)].skipped;
      }
    }
    const auto& unlisted = split.tree.unlisted;
    dataset_.skipped.insert(dataset_.skipped.end(), unlisted.begin(), unlisted.end());
    for (const auto& [name, count] : split.scan.unsupported_formats) {
      dataset_.unsupported_formats[name] += count;
    }
  }

  const ScanOptions& options_;
  FolderForm form_;
  std::optional<ScanIndex> index_;
  ScanMeter meter_;
  ImageFolder dataset_;
};

}  // namespace

const char* skip_kind_name(SkipKind kind) {
  switch (kind) {
    case SkipKind::Damaged:
      return "damaged";
    case SkipKind::Unreadable:
      return "unreadable";
    case SkipKind::Unsupported:
      return "unsupported";
  }
  return "damaged";
}

ImageFolder scan_dataset(const ScanOptions& options) {
  if (!(options.val_fraction >= 0 && options.val_fraction < 1)) {
    fail(ErrorKind::InvalidArgument, "val_fraction is {}; at least 0 and below 1 was expected",
         options.val_fraction);
  }
  return DatasetScanner(options).run();
}

}  // namespace pounce
