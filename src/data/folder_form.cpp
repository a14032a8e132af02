#include "data/folder_form.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "base/checksum.h"
#include "base/file.h"
#include "base/text.h"
#include "data/folder_listing.h"
#include "data/tree_walk.h"

namespace pounce {
namespace {

enum class SplitName { None, Train, Val, Test };

SplitName split_of(std::string_view folder) {
  std::string name = to_lower_ascii(folder);
  for (std::string_view word : {"train", "training", "training_set"}) {
    if (name == word) return SplitName::Train;
  }
  for (std::string_view word : {"val", "valid", "validation", "eval"}) {
    if (name == word) return SplitName::Val;
  }
  for (std::string_view word : {"test", "test_set"}) {
    if (name == word) return SplitName::Test;
  }
  return SplitName::None;
}

void set_split(std::string& slot, const std::string& folder, const FolderForm& form) {
  if (!slot.empty()) {
    std::string second = shell_word(join_path(form.root, folder));
    fail_with_hint(ErrorKind::Config,
                   fmt::format("keep one of the two there, such as: mv {} {}; then: {}", second,
                               shell_word(form.root + "-" + folder), form.typed.line),
                   "{} holds {}/ and {}/, which name the same split", form.root, slot, folder);
  }
  slot = folder;
}

// Finds the split folders. Throws when folders with images lie beside them.
void find_splits(const Listing& listing, FolderForm& form) {
  std::vector<std::string> splits, others;
  for (const std::string& folder : listing.folders) {
    SplitName split = split_of(folder);
    if (split == SplitName::None) {
      others.push_back(folder);
      continue;
    }
    splits.push_back(folder + "/");
    set_split(split == SplitName::Train ? form.train
              : split == SplitName::Val ? form.val
                                        : form.test,
              folder, form);
  }
  if (splits.empty()) return;
  std::erase_if(others, [&](const std::string& folder) {
    return !holds_images(join_path(form.root, folder), form.stop);
  });
  if (others.empty()) return;
  std::string split = splits.front();
  split.pop_back();
  fail_with_hint(
      ErrorKind::Config,
      fmt::format("move the classes into a split: mv {} {}; or the splits away; then: {}",
                  shell_word(join_path(form.root, others.front())),
                  shell_word(join_path(form.root, split) + "/"), form.typed.line),
      "{} mixes split folders ({}) with what look like class folders ({})", form.root,
      list_some(splits, 4), list_some(others, 6));
}

// The only folder inside, when it can be nothing but a wrapper: it holds folders and no images.
std::optional<std::string> wrapped_folder(const std::string& path, const Listing& listing,
                                          const std::vector<std::string>& known_classes) {
  if (listing.folders.size() != 1 || !listing.images.empty()) return std::nullopt;
  const std::string& name = listing.folders.front();
  bool is_class =
      std::any_of(known_classes.begin(), known_classes.end(),
                  [&](const std::string& known) { return to_nfc(known) == to_nfc(name); });
  if (is_class || split_of(name) != SplitName::None) return std::nullopt;
  Listing inner = list_level(join_path(path, name), false);
  if (inner.folders.empty() || !inner.images.empty()) return std::nullopt;
  return name;
}

// Whether at least two folders hold images, which then are the classes.
bool has_class_folders(const std::string& path, const std::stop_token& stop) {
  int classes = 0;
  for (const std::string& folder : list_level(path, true).folders) {
    classes += holds_images(join_path(path, folder), stop);
    if (classes == 2) return true;
  }
  return false;
}

std::vector<std::string> paths_of(const std::vector<LabelTableName>& tables) {
  std::vector<std::string> paths;
  for (const LabelTableName& table : tables) paths.push_back(table.path);
  return paths;
}

// Labels by metadata.csv, at the root or in the splits, unless folders name the classes.
void find_metadata(FolderForm& form) {
  std::vector<LabelTableName> tables;
  for (const std::string& folder : {std::string(), form.train, form.val, form.test}) {
    if (folder.empty() && !tables.empty()) continue;
    auto table = find_metadata_table(folder.empty() ? form.root : join_path(form.root, folder));
    if (!table) continue;
    if (!folder.empty()) table->prefix = folder + "/";
    tables.push_back(*table);
  }
  if (tables.empty()) return;
  std::string names = list_some(paths_of(tables), 3);
  const std::string& split = !form.train.empty() ? form.train : form.val;
  if (has_class_folders(split.empty() ? form.root : join_path(form.root, split), form.stop)) {
    form.notes.push_back(
        fmt::format("the folders name the classes, {} is not used; to use it: {} --labels {}",
                    names, form.typed.line, shell_word(tables.front().path)));
    return;
  }
  form.labels = labels_from_tables(tables, form.typed.line);
  form.notes.push_back(fmt::format("labels from {} (columns {} and {})", names,
                                   tables.front().file_column, tables.front().label_column));
}

void find_labels(const FormRequest& request, FolderForm& form) {
  if (request.labels.empty()) {
    find_metadata(form);
  } else if (request.labels == "names") {
    form.labels = labels_from_names(form.typed.line);
  } else {
    form.labels =
        labels_from_tables({parse_table_name(request.labels, request.path)}, form.typed.line);
  }
}

bool is_utf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    size_t start = at;
    if (next_code_point(text, at) == U'\uFFFD' && at - start == 1) return false;
  }
  return true;
}

// As bash takes it between $' and ': every byte that is not plain ASCII as \xNN.
std::string spell_bytes(std::string_view text) {
  std::string spelled;
  for (char c : text) {
    bool is_plain = c >= ' ' && c <= '~' && c != '\'' && c != '\\';
    spelled += is_plain ? std::string(1, c) : fmt::format("\\x{:02x}", uint8_t(c));
  }
  return spelled;
}

// A model file holds names in UTF-8; two others could become the same there.
void require_utf8_class(const ClassFolder& found, const std::string& folder,
                        const FolderForm& form) {
  if (found.files == 0 || is_utf8(found.name)) return;
  std::string name = spell_bytes(found.name);
  if (form.labels) {
    fail_with_hint(ErrorKind::Config, "write the label in UTF-8; then: " + form.typed.line,
                   "the class {} of {} is not valid UTF-8", name, found.first_path);
  }
  std::string path = join_path(folder.empty() ? form.root : join_path(form.root, folder), "");
  fail_with_hint(ErrorKind::Config,
                 fmt::format("rename it: mv {0}$'{1}' {0}NAME; then: {2}", shell_word(path), name,
                             form.typed.line),
                 "the name of the class folder {}{}/ is not valid UTF-8", path, name);
}

// Reads the tree of one split.
class SplitLister {
 public:
  SplitLister(const FolderForm& form, SplitTree& tree, std::map<std::string, int64_t>& ignored,
              const ListingOptions& options)
      : form_(form), tree_(tree), ignored_(ignored), options_(options) {}

  // Folders whose names are the classes.
  void add_classes(const std::vector<std::string>& names) {
    std::vector<std::string> tops;
    for (const std::string& name : names) {
      tree_.classes.push_back({to_nfc(name), 0, ""});
      tops.push_back(join_path(tree_.folder, name));
    }
    walk(tops, [&](size_t top, const std::string& path) { add_file(path, top); });
    for (const ClassFolder& found : tree_.classes) require_utf8_class(found, tree_.folder, form_);
  }

  // All images of the split, by what the labels say.
  void add_labelled() {
    std::map<std::string, size_t> classes;
    walk({tree_.folder}, [&](size_t, const std::string& path) {
      std::optional<std::string> label = form_.labels->label_of(path);
      if (!label) {
        ++ignored_[form_.labels->reason_without_label()];
        return;
      }
      auto [found, is_new] = classes.emplace(*label, classes.size());
      if (is_new) tree_.classes.push_back({*label, 0, ""});
      add_file(path, found->second);
    });
    for (const auto& [name, index] : classes) {
      require_utf8_class(tree_.classes[index], tree_.folder, form_);
    }
  }

 private:
  void walk(const std::vector<std::string>& tops,
            const std::function<void(size_t top, const std::string& path)>& take) {
    TreeWalkOptions options{.root = form_.root,
                            .tops = tops,
                            .threads = options_.threads,
                            .stop = form_.stop,
                            .progress = options_.progress};
    if (form_.labels) {
      options.is_table = [this](const std::string& path) {
        return form_.labels->is_own_file(path);
      };
    }
    TreeWalk tree(options);
    for (const auto& [reason, count] : tree.ignored) ignored_[reason] += count;
    tree_.unlisted = tree.unlisted;
    tree.for_each(take);
  }

  void add_file(const std::string& path, size_t index) {
    ClassFolder& found = tree_.classes[index];
    if (found.files++ == 0) found.first_path = path;
    tree_.files.push_back(path, int32_t(index), xxh3_64(path));
  }

  const FolderForm& form_;
  SplitTree& tree_;
  std::map<std::string, int64_t>& ignored_;
  const ListingOptions& options_;
};

// In code-point order of their names; the labels of the files follow.
void sort_classes(SplitTree& tree) {
  std::vector<size_t> order(tree.classes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return tree.classes[a].name < tree.classes[b].name; });
  std::vector<int32_t> new_label(order.size());
  std::vector<ClassFolder> sorted;
  for (size_t i = 0; i < order.size(); ++i) {
    new_label[order[i]] = int32_t(i);
    sorted.push_back(std::move(tree.classes[order[i]]));
  }
  tree.classes = std::move(sorted);
  tree.files.replace_labels(new_label);
}

// Two folders must not be the same class in NFC.
void require_distinct_classes(const SplitTree& tree, const std::vector<std::string>& on_disk,
                              const FolderForm& form) {
  std::map<std::string, std::string> seen;
  for (const std::string& name : on_disk) {
    auto [found, is_new] = seen.emplace(to_nfc(name), name);
    if (is_new) continue;
    std::string path = tree.folder.empty() ? form.root : join_path(form.root, tree.folder);
    auto typed = [&](const std::string& folder) {
      return fmt::format("{}$'{}'", shell_word(path + "/"), spell_out(folder));
    };
    fail_with_hint(ErrorKind::Config,
                   fmt::format("join them: mv {0}/* {1}/ && rmdir {0}; then: {2}",
                               typed(found->second), typed(name), form.typed.line),
                   "{} holds two folders of the class {}: {}/ and {}/ (spelled {} and {})", path,
                   found->first, found->second, name, spell_out(found->second), spell_out(name));
  }
}

bool has_files(const SplitTree& tree) {
  return !tree.files.empty();
}

void list_labelled(const FolderForm& form, SplitTree& tree, std::map<std::string, int64_t>& ignored,
                   const ListingOptions& options) {
  SplitLister(form, tree, ignored, options).add_labelled();
  sort_classes(tree);
  bool is_main = tree.folder == form.train;
  if (has_files(tree) || !tree.unlisted.empty()) return;
  std::string path = tree.folder.empty() ? form.root : join_path(form.root, tree.folder);
  if (is_main && !holds_images(path, form.stop)) {
    fail_without_classes(path, list_level(path, true), form.typed, false);
  }
}

}  // namespace

FolderForm find_folder_form(const FormRequest& request) {
  require_folder(request.path, request.program);
  FolderForm form;
  form.root = request.path;
  form.stop = request.stop;
  form.typed = {request.program, fmt::format("{} {}", request.program, shell_word(request.path))};
  Listing listing = list_level(form.root, true);
  while (auto name = wrapped_folder(form.root, listing, request.known_classes)) {
    form.notes.push_back(fmt::format("{} holds only the folder {}: using that", form.root, *name));
    form.root = join_path(form.root, *name);
    listing = list_level(form.root, true);
  }
  find_splits(listing, form);
  find_labels(request, form);
  if (listing.folders.empty() && !form.labels) {
    fail_without_classes(form.root, listing, form.typed, true);
  }
  if (form.has_splits()) {
    form.ignored = listing.ignored;
    if (!listing.images.empty()) {
      form.ignored[kOutsideSplits] += int64_t(listing.images.size());
    }
    for (const std::string& table : listing.tables) {
      if (form.labels && form.labels->is_own_file(join_path(form.root, table))) {
        if (--form.ignored["not an image"] == 0) form.ignored.erase("not an image");
      }
    }
  }
  return form;
}

SplitTree list_split(const FolderForm& form, const std::string& folder,
                     std::map<std::string, int64_t>& ignored, const ListingOptions& options) {
  SplitTree tree;
  tree.folder = folder;
  if (form.labels) {
    list_labelled(form, tree, ignored, options);
    return tree;
  }
  std::string path = folder.empty() ? form.root : join_path(form.root, folder);
  Listing listing = list_level(path, folder.empty());
  auto takes_labels = [&] {
    return folder == form.train || form.train.empty() ||
           !has_class_folders(join_path(form.root, form.train), form.stop);
  };
  if (listing.folders.empty()) fail_without_classes(path, listing, form.typed, takes_labels());
  for (const auto& [reason, count] : listing.ignored) ignored[reason] += count;
  if (!listing.images.empty()) {
    ignored[kOutsideClasses] += int64_t(listing.images.size());
  }
  SplitLister(form, tree, ignored, options).add_classes(listing.folders);
  require_distinct_classes(tree, listing.folders, form);
  sort_classes(tree);
  if (!has_files(tree) && tree.unlisted.empty()) {
    fail_without_classes(path, listing, form.typed, takes_labels());
  }
  return tree;
}

std::optional<Split> split_of_folder(std::string_view name) {
  switch (split_of(name)) {
    case SplitName::Train:
      return Split::Train;
    case SplitName::Val:
      return Split::Val;
    case SplitName::Test:
      return Split::Test;
    case SplitName::None:
      break;
  }
  return std::nullopt;
}

std::vector<std::string> stray_image_notes(const std::map<std::string, int64_t>& ignored) {
  std::vector<std::string> notes;
  auto add = [&](const char* reason, const char* folders) {
    auto found = ignored.find(reason);
    if (found == ignored.end()) return;
    bool is_one = found->second == 1;
    notes.push_back(fmt::format("{} beside the {} folders and {} left out; move {} into one",
                                count_of(found->second, "image lies", "images lie"), folders,
                                is_one ? "is" : "are", is_one ? "it" : "them"));
  };
  add(kOutsideClasses, "class");
  add(kOutsideSplits, "split");
  return notes;
}

bool is_flat(const std::string& path, const std::stop_token& stop) {
  Listing listing = list_level(path, false);
  return !listing.images.empty() &&
         std::none_of(listing.folders.begin(), listing.folders.end(),
                      [&](const std::string& folder) {
                        return holds_images(join_path(path, folder), stop);
                      });
}

}  // namespace pounce
