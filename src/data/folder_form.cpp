#include "data/folder_form.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/file.h"
#include "base/text.h"
#include "data/decode.h"

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

bool is_hidden(std::string_view name) {
  return name.starts_with('.');
}

// What operating systems and network drives leave in every folder.
bool is_system_name(std::string_view name) {
  constexpr std::array kNames = {"Thumbs.db", "desktop.ini", "__MACOSX",
                                 "@eaDir",    "lost+found",  "$RECYCLE.BIN",
                                 "Icon\r",    "ehthumbs.db", "System Volume Information"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

bool has_image_extension(std::string_view name) {
  return is_image_extension(file_extension(name));
}

// Why a name is left out; "" when it counts. The words are keys of ImageFolder::ignored.
std::string_view reason_to_ignore(const DirectoryEntry& entry) {
  bool is_folder = entry.kind == EntryKind::Directory;
  if (is_system_name(entry.name)) return is_folder ? "system folder" : "system file";
  if (is_hidden(entry.name)) return is_folder ? "hidden folder" : "hidden file";
  if (is_folder) return has_image_extension(entry.name) ? "folder named like an image" : "";
  return has_image_extension(entry.name) ? "" : "not an image";
}

struct Listing {
  std::vector<std::string> folders;  // that count
  std::vector<std::string> images;   // files with an image extension
  std::vector<std::string> archives;
  std::map<std::string, int64_t> ignored;
};

Listing list_level(const std::string& path, bool is_root) {
  Result<std::vector<DirectoryEntry>> entries = list_directory(path);
  if (!entries) {
    fail_with_hint(ErrorKind::Io, "check the rights of the folder", "{}",
                   entries.error().message());
  }
  Listing listing;
  for (const DirectoryEntry& entry : *entries) {
    std::string_view reason = reason_to_ignore(entry);
    bool is_folder = entry.kind == EntryKind::Directory;
    if (!is_folder && !unpack_command(entry.name).empty()) listing.archives.push_back(entry.name);
    if (is_root && is_folder && entry.name == "runs") reason = "runs folder";
    if (!reason.empty()) {
      ++listing.ignored[std::string(reason)];
    } else {
      (is_folder ? listing.folders : listing.images).push_back(entry.name);
    }
  }
  return listing;
}

bool holds_images(const std::string& folder) {
  bool found = false;
  DirectoryVisitor visitor;
  visitor.enter = [&](const std::string&, const DirectoryEntry& entry) {
    return !found && reason_to_ignore(entry).empty();
  };
  visitor.visit = [&](const std::string&, const DirectoryEntry& entry) {
    found = found || reason_to_ignore(entry).empty();
  };
  walk_directory(folder, visitor);
  return found;
}

constexpr const char* kExpectedForm =
    "put the images of each class into a folder of its own: DIR/cat/1.jpg, DIR/dog/2.jpg";

void require_folder(const std::string& path) {
  if (is_directory(path)) return;
  if (is_missing(path)) {
    fail_with_hint(ErrorKind::Config, "check the spelling of the path",
                   "{} does not exist; a folder of images was expected", path);
  }
  std::string command = unpack_command(path);
  if (!command.empty()) {
    fail_with_hint(ErrorKind::Config, fmt::format("unpack it first: {}", command),
                   "{} is an archive; a folder of images was expected", path);
  }
  if (is_regular_file(path)) {
    fail_with_hint(ErrorKind::Config, kExpectedForm,
                   "{} is a file; a folder of images was expected", path);
  }
  fail_with_hint(ErrorKind::Io, "check the rights of the folders above it",
                 "cannot open the folder {}", path);
}

// "cat" of "cat.0.jpg", "Abyssinian" of "Abyssinian_1.jpg".
std::string class_suggested_by(std::string_view name) {
  name = name.substr(0, name.rfind('.'));
  size_t end = name.find_last_not_of("0123456789 ._-()#");
  return end == std::string_view::npos ? "" : std::string(name.substr(0, end + 1));
}

[[noreturn]] void fail_flat(const std::string& path, const Listing& listing) {
  std::map<std::string, int64_t> counts;
  for (const std::string& name : listing.images) ++counts[class_suggested_by(name)];
  std::vector<std::string> words;
  for (const auto& [name, count] : counts) {
    if (!name.empty() && count >= 2) words.push_back(fmt::format("{} {}", name, count));
  }
  std::string names;
  if (words.size() >= 2) {
    names = fmt::format(" (their names suggest {} classes: {})", words.size(), list_some(words, 6));
  }
  fail_with_hint(ErrorKind::Config, kExpectedForm,
                 "{} holds {} without class folders{}; which class an image has cannot be known",
                 path, count_of(int64_t(listing.images.size()), "image", "images"), names);
}

[[noreturn]] void fail_without_folders(const std::string& path, const Listing& listing) {
  if (!listing.images.empty()) fail_flat(path, listing);
  if (!listing.archives.empty()) {
    std::string archive = join_path(path, listing.archives.front());
    fail_with_hint(ErrorKind::Config, fmt::format("unpack it first: {}", unpack_command(archive)),
                   "{} holds no images, but the archive {}", path, listing.archives.front());
  }
  bool has_folders = !listing.folders.empty();
  bool is_empty = !has_folders && listing.ignored.empty();
  fail_with_hint(ErrorKind::Config, kExpectedForm, "{} holds no {}{}", path,
                 has_folders ? "images" : "class folders and no images",
                 is_empty ? ": it is empty" : "");
}

void set_split(std::string& slot, const std::string& folder, const std::string& path) {
  if (!slot.empty()) {
    fail_with_hint(ErrorKind::Config, "keep one of the two, or join them",
                   "{} holds {}/ and {}/, which name the same split", path, slot, folder);
  }
  slot = folder;
}

void find_splits(const Listing& listing, FolderForm& form) {
  std::vector<std::string> splits, others;
  for (const std::string& folder : listing.folders) {
    switch (split_of(folder)) {
      case SplitName::Train:
        set_split(form.train, folder, form.root);
        break;
      case SplitName::Val:
        set_split(form.val, folder, form.root);
        break;
      case SplitName::Test:
        set_split(form.test, folder, form.root);
        break;
      case SplitName::None:
        others.push_back(folder);
        continue;
    }
    splits.push_back(folder + "/");
  }
  if (splits.empty()) return;
  std::erase_if(others, [&](const std::string& folder) {
    return !holds_images(join_path(form.root, folder));
  });
  if (others.empty()) return;
  fail_with_hint(ErrorKind::Config,
                 "move the class folders into the split folders, or rename or remove one kind",
                 "{} mixes split folders ({}) with what look like class folders ({})", form.root,
                 list_some(splits, 4), list_some(others, 6));
}

// The only folder inside, when it can be nothing but a wrapper: it holds folders and no images.
std::optional<std::string> wrapped_folder(const std::string& path, const Listing& listing,
                                          const std::vector<std::string>& known_classes) {
  if (listing.folders.size() != 1 || !listing.images.empty()) return std::nullopt;
  const std::string& name = listing.folders.front();
  bool is_class =
      std::find(known_classes.begin(), known_classes.end(), name) != known_classes.end();
  if (is_class || split_of(name) != SplitName::None) return std::nullopt;
  Listing inner = list_level(join_path(path, name), false);
  if (inner.folders.empty() || !inner.images.empty()) return std::nullopt;
  return name;
}

class ClassLister {
 public:
  ClassLister(SplitTree& tree, std::map<std::string, int64_t>& ignored)
      : tree_(tree), ignored_(ignored) {}

  void add_class(const std::string& root, const std::string& folder, const std::string& name) {
    tree_.classes.push_back({name, {}});
    std::string below = join_path(folder, name);
    DirectoryVisitor visitor;
    visitor.enter = [&](const std::string&, const DirectoryEntry& entry) { return keep(entry); };
    visitor.visit = [&](const std::string& relative, const DirectoryEntry& entry) {
      if (!keep(entry)) return;
      bool is_dangling = entry.kind == EntryKind::DanglingLink;
      tree_.classes.back().files.push_back({join_path(below, relative), is_dangling});
    };
    visitor.failed = [&](const std::string& relative, const Error& error) {
      std::string path = relative.empty() ? below : join_path(below, relative);
      tree_.unlisted.push_back({path, SkipKind::Unreadable, error.message()});
    };
    walk_directory(join_path(root, below), visitor);
    auto& files = tree_.classes.back().files;
    std::sort(files.begin(), files.end(),
              [](const Candidate& a, const Candidate& b) { return a.path < b.path; });
  }

 private:
  bool keep(const DirectoryEntry& entry) {
    std::string_view reason = reason_to_ignore(entry);
    if (reason.empty()) return true;
    ++ignored_[std::string(reason)];
    return false;
  }

  SplitTree& tree_;
  std::map<std::string, int64_t>& ignored_;
};

}  // namespace

std::string unpack_command(const std::string& path) {
  std::string name = to_lower_ascii(path);
  if (name.ends_with(".zip")) return fmt::format("unzip '{}' -d images", path);
  for (std::string_view end : {".tar", ".tar.gz", ".tgz", ".tar.xz", ".tar.bz2", ".tar.zst"}) {
    if (name.ends_with(end)) {
      return fmt::format("mkdir images && tar -xf '{}' -C images", path);
    }
  }
  if (name.ends_with(".7z")) return fmt::format("7z x '{}' -oimages", path);
  if (name.ends_with(".rar")) return fmt::format("unrar x '{}' images/", path);
  return "";
}

FolderForm find_folder_form(const std::string& path,
                            const std::vector<std::string>& known_classes) {
  require_folder(path);
  FolderForm form;
  form.root = path;
  Listing listing = list_level(path, true);
  while (auto name = wrapped_folder(form.root, listing, known_classes)) {
    form.notes.push_back(fmt::format("{} holds only the folder {}: using that", form.root, *name));
    form.root = join_path(form.root, *name);
    listing = list_level(form.root, true);
  }
  if (listing.folders.empty()) fail_without_folders(form.root, listing);
  find_splits(listing, form);
  return form;
}

SplitTree list_split(const FolderForm& form, const std::string& folder,
                     std::map<std::string, int64_t>& ignored) {
  SplitTree tree;
  tree.folder = folder;
  std::string path = folder.empty() ? form.root : join_path(form.root, folder);
  Listing listing = list_level(path, folder.empty());
  if (listing.folders.empty()) fail_without_folders(path, listing);
  for (const auto& [reason, count] : listing.ignored) ignored[reason] += count;
  if (!listing.images.empty()) {
    ignored["image outside the class folders"] += int64_t(listing.images.size());
  }
  ClassLister lister(tree, ignored);
  for (const std::string& name : listing.folders) lister.add_class(form.root, folder, name);
  bool has_files = std::any_of(tree.classes.begin(), tree.classes.end(),
                               [](const ClassFolder& found) { return !found.files.empty(); });
  if (!has_files && tree.unlisted.empty()) fail_without_folders(path, listing);
  return tree;
}

std::vector<std::string> find_image_files(const std::string& folder) {
  std::vector<std::string> paths;
  DirectoryVisitor visitor;
  visitor.enter = [](const std::string&, const DirectoryEntry& entry) {
    return reason_to_ignore(entry).empty();
  };
  visitor.visit = [&](const std::string& relative, const DirectoryEntry& entry) {
    if (reason_to_ignore(entry).empty()) paths.push_back(join_path(folder, relative));
  };
  visitor.failed = [](const std::string&, const Error& error) { throw error; };
  walk_directory(folder, visitor);
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace pounce
