// scan_for_eval: the images of a folder that a trained model is measured on.
#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "base/file.h"
#include "base/text.h"
#include "data/folder_form.h"
#include "data/header_scan.h"
#include "data/scan_meter.h"
#include "data/split_rule.h"

namespace pounce {
namespace {

// A split folder to read, and which part of it when the model's split rule applies.
struct Part {
  std::string folder;
  enum class Which { All, HeldBack, Rest } which = Which::All;
};

[[noreturn]] void fail_without_split(const FolderForm& form, const char* wanted) {
  std::string found = form.has_splits() ? "" : "no split folders";
  for (const std::string& folder : {form.train, form.val, form.test}) {
    if (!folder.empty()) found += (found.empty() ? "" : ", ") + fmt::format("{}/", folder);
  }
  fail_with_hint(ErrorKind::Config, "choose another part: --split train|val|test|all",
                 "{} has no {} part (found {})", form.root, wanted, found);
}

std::vector<Part> parts_of_splits(const FolderForm& form, Split split, bool has_rule) {
  bool rule_applies = has_rule && form.val.empty() && !form.train.empty();
  switch (split) {
    case Split::Train:
      if (form.train.empty()) fail_without_split(form, "train");
      return {{form.train, rule_applies ? Part::Which::Rest : Part::Which::All}};
    case Split::Val:
      if (!form.val.empty()) return {{form.val}};
      if (!rule_applies) fail_without_split(form, "validation");
      return {{form.train, Part::Which::HeldBack}};
    case Split::Test:
      if (form.test.empty()) fail_without_split(form, "test");
      return {{form.test}};
    case Split::All:
      break;
  }
  std::vector<Part> parts;
  for (const std::string& folder : {form.train, form.val, form.test}) {
    if (!folder.empty()) parts.push_back({folder});
  }
  return parts;
}

std::vector<Part> choose_parts(const FolderForm& form, Split split, bool has_rule) {
  if (form.has_splits()) return parts_of_splits(form, split, has_rule);
  if (split == Split::Test) fail_without_split(form, "test");
  if (split == Split::Train && !has_rule) fail_without_split(form, "train");
  if (split == Split::All || !has_rule) return {{""}};
  return {{"", split == Split::Val ? Part::Which::HeldBack : Part::Which::Rest}};
}

[[noreturn]] void fail_unknown_class(const SplitTree& tree, const ClassFolder& found,
                                     const std::vector<std::string>& classes) {
  std::string folder = join_path(tree.folder, found.name);
  bool is_folder = found.first_path.starts_with(folder + "/");
  std::string place = is_folder ? fmt::format("folder {}/", folder) : found.first_path;
  auto near = nearest(found.name, classes);
  std::string hint = near ? fmt::format("did you mean {}? Rename or remove it", *near)
                          : "remove it, or evaluate a model that knows the class";
  fail_with_hint(ErrorKind::Config, hint,
                 "the class {} ({}) is unknown to the model, which knows {}", found.name, place,
                 list_some(classes, 12));
}

void label_by_model(SplitTree& tree, const std::vector<std::string>& classes) {
  std::vector<std::string> names;
  for (const std::string& name : classes) names.push_back(to_nfc(name));
  std::vector<int32_t> labels;
  for (const ClassFolder& folder : tree.classes) {
    auto found = std::find(names.begin(), names.end(), folder.name);
    if (found == names.end() && folder.files > 0) fail_unknown_class(tree, folder, classes);
    labels.push_back(int32_t(found - names.begin()));
  }
  tree.files.replace_labels(labels);
}

// Reads the parts into the set.
class PartReader {
 public:
  PartReader(const FolderForm& form, const EvalScanOptions& options, EvalSet& set)
      : form_(form), options_(options), set_(set), meter_(options.progress) {}

  void read(const std::vector<Part>& parts) {
    std::vector<SplitTree> trees;
    for (const Part& part : parts) {
      trees.push_back(
          list_split(form_, part.folder, set_.ignored, {options_.threads, meter_.listing()}));
      meter_.add_listed(trees.back().files.size());
    }
    bool is_worth_it = meter_.listed() >= kFilesWorthAnIndex;
    index_.emplace(is_worth_it ? options_.cache_folder : "", form_.root);
    for (size_t i = 0; i < parts.size(); ++i) read(parts[i], trees[i]);
    index_->commit();
  }

 private:
  void read(const Part& part, SplitTree& tree) {
    if (!tree.unlisted.empty() && options_.on_bad != OnBad::Skip) {
      fail_with_hint(ErrorKind::Io, "check the rights of the folder", "{}",
                     tree.unlisted.front().reason);
    }
    HeaderScan scan = read_headers(tree);
    set_.samples.append(scan.samples.part(wanted_of(part, scan.samples)));
    set_.skipped.insert(set_.skipped.end(), scan.skipped.begin(), scan.skipped.end());
    set_.skipped.insert(set_.skipped.end(), tree.unlisted.begin(), tree.unlisted.end());
    set_.held_back_only = part.which == Part::Which::HeldBack;
  }

  HeaderScan read_headers(SplitTree& tree) {
    label_by_model(tree, options_.classes);
    size_t files = tree.files.size();
    HeaderScan scan = scan_headers(std::exchange(tree.files, {}), *index_,
                                   {.root = form_.root,
                                    .stop_at_first_bad = options_.on_bad == OnBad::Stop,
                                    .threads = options_.threads,
                                    .progress = meter_.reading(),
                                    .stop = options_.stop});
    meter_.add_read(files);
    if (scan.linked_folders > 0) set_.ignored[kFolderLikeImage] += scan.linked_folders;
    return scan;
  }

  std::vector<uint32_t> wanted_of(const Part& part, const SampleList& samples) {
    std::vector<bool> is_val = held_back(samples, part.folder, options_.split_fraction.value_or(0));
    std::vector<uint32_t> wanted;
    for (size_t i = 0; i < samples.size(); ++i) {
      auto recorded = options_.recorded_sides.find(samples.path(i));
      bool is_recorded = recorded != options_.recorded_sides.end();
      bool is_held_back = is_recorded ? recorded->second == Split::Val : is_val[i];
      bool is_wanted =
          part.which == Part::Which::All || is_held_back == (part.which == Part::Which::HeldBack);
      if (!is_wanted) continue;
      wanted.push_back(uint32_t(i));
      set_.unrecorded += is_recorded ? 0 : 1;
    }
    return wanted;
  }

  const FolderForm& form_;
  const EvalScanOptions& options_;
  EvalSet& set_;
  std::optional<ScanIndex> index_;
  ScanMeter meter_;
};

// Which part of the images was taken. Only a record tells what training held back.
std::string held_back_note(const EvalSet& set, bool has_record) {
  int64_t all = int64_t(set.samples.size());
  if (!has_record) {
    return fmt::format(
        "only the {} that the rule of the model's split holds back; images that training never saw "
        "want --split all",
        count_of(all, "image", "images"));
  }
  std::string newer = set.unrecorded == 0
                          ? ""
                          : fmt::format(" and {} by the same rule",
                                        count_of(set.unrecorded, "newer one", "newer ones"));
  return fmt::format("only the {} that training held back{}; --split all takes every image",
                     count_of(all - set.unrecorded, "image", "images"), newer);
}

std::vector<std::string> absent_classes(const EvalSet& set,
                                        const std::vector<std::string>& classes) {
  std::set<int32_t> present;
  for (size_t i = 0; i < set.samples.size(); ++i) present.insert(set.samples.label(i));
  std::vector<std::string> absent;
  for (size_t i = 0; i < classes.size(); ++i) {
    if (!present.contains(int32_t(i))) absent.push_back(classes[i]);
  }
  return absent;
}

}  // namespace

EvalSet scan_for_eval(const EvalScanOptions& options) {
  FolderForm form = find_folder_form(
      {options.root, options.labels, options.classes, options.program, options.stop});
  EvalSet set;
  set.root = form.root;
  set.notes = form.notes;
  set.ignored = form.ignored;
  bool has_rule = options.split_fraction.value_or(0) > 0;
  std::vector<Part> parts = choose_parts(form, options.split, has_rule);
  // One part after the other in the order of the paths: the list needs no sorting.
  std::sort(parts.begin(), parts.end(),
            [](const Part& a, const Part& b) { return a.folder < b.folder; });
  PartReader(form, options, set).read(parts);
  std::vector<std::string> strays = stray_image_notes(set.ignored);
  set.notes.insert(set.notes.end(), strays.begin(), strays.end());
  if (form.labels) {
    LabelFindings findings = form.labels->finish(form.root, /*saw_all=*/!form.has_splits());
    set.notes.insert(set.notes.end(), findings.notes.begin(), findings.notes.end());
    set.notes.insert(set.notes.end(), findings.warnings.begin(), findings.warnings.end());
  }
  if (set.samples.empty()) {
    fail_with_hint(ErrorKind::Config, "choose another folder or part",
                   "{} holds no usable images to evaluate ({} skipped)", form.root,
                   set.skipped.size());
  }
  std::sort(set.skipped.begin(), set.skipped.end(),
            [](const SkippedFile& a, const SkippedFile& b) { return a.path < b.path; });
  set.absent_classes = absent_classes(set, options.classes);
  if (set.held_back_only) {
    set.notes.push_back(held_back_note(set, !options.recorded_sides.empty()));
  }
  return set;
}

}  // namespace pounce
