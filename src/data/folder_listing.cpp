#include "data/folder_listing.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/text.h"
#include "data/dataset.h"
#include "data/decode.h"

namespace pounce {
namespace {

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

bool is_table_name(std::string_view name) {
  std::string extension = file_extension(name);
  return !is_hidden(name) && (extension == "csv" || extension == "tsv");
}

}  // namespace

bool has_image_extension(std::string_view name) {
  return is_image_extension(file_extension(name));
}

std::string_view reason_to_ignore(const DirectoryEntry& entry) {
  bool is_folder = entry.kind == EntryKind::Directory;
  if (is_system_name(entry.name)) return is_folder ? "system folder" : "system file";
  if (is_hidden(entry.name)) return is_folder ? "hidden folder" : "hidden file";
  if (is_folder) return has_image_extension(entry.name) ? kFolderLikeImage : "";
  return has_image_extension(entry.name) ? "" : "not an image";
}

Listing list_level(const std::string& path, bool is_root) {
  Result<std::vector<DirectoryEntry>> entries = list_directory(path, has_image_extension);
  if (!entries) {
    fail_with_hint(ErrorKind::Io,
                   fmt::format("check the rights of the folder: ls -ld {}", shell_word(path)), "{}",
                   entries.error().message());
  }
  Listing listing;
  for (const DirectoryEntry& entry : *entries) {
    std::string_view reason = reason_to_ignore(entry);
    bool is_folder = entry.kind == EntryKind::Directory;
    if (!is_folder && !unpack_command(entry.name).empty()) listing.archives.push_back(entry.name);
    if (!is_folder && is_table_name(entry.name)) listing.tables.push_back(entry.name);
    if (is_root && is_folder && entry.name == "runs") reason = "runs folder";
    if (!reason.empty()) {
      ++listing.ignored[std::string(reason)];
    } else {
      (is_folder ? listing.folders : listing.images).push_back(entry.name);
    }
  }
  return listing;
}

void throw_if_stopped(const std::stop_token& stop) {
  if (stop.stop_requested()) fail(ErrorKind::Interrupted, "stopped");
}

bool holds_images(const std::string& folder, const std::stop_token& stop) {
  throw_if_stopped(stop);
  bool found = false;
  DirectoryVisitor visitor;
  visitor.skip_link = has_image_extension;
  visitor.is_done = [&] { return found; };
  visitor.enter = [&](const std::string&, const DirectoryEntry& entry) {
    throw_if_stopped(stop);
    return reason_to_ignore(entry).empty();
  };
  visitor.visit = [&](const std::string&, const DirectoryEntry& entry) {
    found = reason_to_ignore(entry).empty();
  };
  walk_directory(folder, visitor);
  return found;
}

std::string unpack_command(const std::string& path) {
  std::string name = to_lower_ascii(path), word = shell_word(path);
  if (name.ends_with(".zip")) return fmt::format("unzip {} -d images", word);
  for (std::string_view end : {".tar", ".tar.gz", ".tgz", ".tar.xz", ".tar.bz2", ".tar.zst"}) {
    if (name.ends_with(end)) return fmt::format("mkdir images && tar -xf {} -C images", word);
  }
  if (name.ends_with(".7z")) return fmt::format("7z x {} -oimages", word);
  if (name.ends_with(".rar")) return fmt::format("unrar x {} images/", word);
  return "";
}

std::vector<std::string> find_image_files(const std::string& folder, const std::stop_token& stop) {
  std::vector<std::string> paths;
  DirectoryVisitor visitor;
  visitor.enter = [&](const std::string&, const DirectoryEntry& entry) {
    throw_if_stopped(stop);
    return reason_to_ignore(entry).empty();
  };
  visitor.visit = [&](const std::string& relative, const DirectoryEntry& entry) {
    throw_if_stopped(stop);
    if (reason_to_ignore(entry).empty()) paths.push_back(join_path(folder, relative));
  };
  visitor.failed = [](const std::string&, const Error& error) { throw error; };
  walk_directory(folder, visitor);
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace pounce
