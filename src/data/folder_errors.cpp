#include "data/folder_errors.h"

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/text.h"
#include "data/label_source.h"

namespace pounce {
namespace {

// "unpack it first: unzip pets.zip -d images; then: pounce train images"
std::string unpack_hint(const std::string& archive, const std::string& program) {
  return fmt::format("unpack it first: {}; then: {} images", unpack_command(archive), program);
}

// A folder beside the missing one whose name is nearly the same.
std::optional<std::string> near_folder(const std::string& path) {
  std::string parent = parent_path(path);
  Result<std::vector<DirectoryEntry>> entries = list_directory(parent);
  if (!entries) return std::nullopt;
  std::vector<std::string> names;
  for (const DirectoryEntry& entry : *entries) {
    if (entry.kind == EntryKind::Directory) names.push_back(entry.name);
  }
  std::optional<std::string> name = nearest(std::string(base_name(path)), names);
  if (!name) return std::nullopt;
  return path.find('/') == std::string::npos ? *name : join_path(parent, *name);
}

[[noreturn]] void fail_missing(const std::string& path, const std::string& program) {
  std::string above = parent_path(path);
  while (is_missing(above)) above = parent_path(above);
  std::string hint = fmt::format("see what is there: ls {}", shell_word(above));
  if (auto near = near_folder(path)) {
    hint = fmt::format("did you mean {}? {} {}", *near, program, shell_word(*near));
  }
  fail_with_hint(ErrorKind::Config, hint, "{} does not exist; a folder of images was expected",
                 path);
}

// " (their names suggest 2 classes: cat 3, dog 3)", or "".
std::string suggestion_of_names(const Listing& listing) {
  std::map<std::string, int64_t> counts;
  for (const std::string& name : listing.images) ++counts[class_suggested_by(name)];
  std::vector<std::string> words;
  for (const auto& [name, count] : counts) {
    if (!name.empty() && count >= 2) words.push_back(fmt::format("{} {}", name, count));
  }
  if (words.size() < 2) return "";
  return fmt::format(" (their names suggest {} classes: {})", words.size(), list_some(words, 6));
}

// A CSV file in the folder, else one beside it; "" when there is none.
std::string table_near(const std::string& path, const Listing& listing) {
  if (!listing.tables.empty()) return join_path(path, listing.tables.front());
  std::string_view name = base_name(path);
  if (name.empty() || name == "." || name == "..") return "";
  std::string parent = parent_path(path);
  if (!is_directory(parent)) return "";
  Listing beside = list_level(parent, false);
  if (beside.tables.empty()) return "";
  return join_path(parent == "." ? "" : parent, beside.tables.front());
}

[[noreturn]] void fail_flat(const std::string& path, const Listing& listing,
                            const TypedCommand& typed, bool takes_labels) {
  std::string names = suggestion_of_names(listing);
  std::vector<std::string> ways;
  if (takes_labels && !names.empty()) {
    ways.push_back(fmt::format("if the names are right: {} --labels names", typed.line));
  }
  std::string table = takes_labels ? table_near(path, listing) : "";
  if (!table.empty()) {
    ways.push_back(
        fmt::format("if {} has the labels: {} --labels {}", table, typed.line, shell_word(table)));
  }
  std::string folders = expected_form(path);
  ways.push_back(ways.empty() ? fmt::format("{}; then: {}", folders, typed.line)
                              : "else " + folders);
  fail_with_hint(ErrorKind::Config, fmt::format("{}", fmt::join(ways, "; ")),
                 "{} holds {} without class folders{}; which class an image has cannot be known",
                 path, count_of(int64_t(listing.images.size()), "image", "images"), names);
}

}  // namespace

std::string expected_form(const std::string& folder) {
  return fmt::format("put the images of each class into a folder of its own: {}, {}",
                     join_path(folder, "cat/1.jpg"), join_path(folder, "dog/2.jpg"));
}

void require_folder(const std::string& path, const std::string& program) {
  if (is_directory(path)) return;
  if (is_missing(path)) fail_missing(path, program);
  if (!unpack_command(path).empty()) {
    fail_with_hint(ErrorKind::Config, unpack_hint(path, program),
                   "{} is an archive; a folder of images was expected", path);
  }
  if (is_regular_file(path)) {
    std::string parent = parent_path(path);
    fail_with_hint(ErrorKind::Config,
                   fmt::format("name the folder: {} {}", program, shell_word(parent)),
                   "{} is a file; a folder of images was expected", path);
  }
  fail_with_hint(ErrorKind::Io,
                 fmt::format("check the rights of the folders above it: ls -ld {}",
                             shell_word(parent_path(path))),
                 "cannot open the folder {}", path);
}

void fail_without_classes(const std::string& path, const Listing& listing,
                          const TypedCommand& typed, bool takes_labels) {
  if (!listing.images.empty()) fail_flat(path, listing, typed, takes_labels);
  if (!listing.archives.empty()) {
    std::string archive = join_path(path, listing.archives.front());
    fail_with_hint(ErrorKind::Config, unpack_hint(archive, typed.program),
                   "{} holds no images, but the archive {}", path, listing.archives.front());
  }
  bool has_folders = !listing.folders.empty();
  bool is_empty = !has_folders && listing.ignored.empty();
  fail_with_hint(ErrorKind::Config, fmt::format("{}; then: {}", expected_form(path), typed.line),
                 "{} holds no {}{}", path, has_folders ? "images" : "class folders and no images",
                 is_empty ? ": it is empty" : "");
}

}  // namespace pounce
