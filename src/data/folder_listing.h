// What lies in a folder, and what of it counts: images, folders, archives, tables. Internal to
// src/data.
#pragma once

#include <cstdint>
#include <map>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"

namespace pounce {

// By its extension; of a link, that is what it is taken for before it is followed.
bool has_image_extension(std::string_view name);

// A key of ImageFolder::ignored.
inline constexpr const char* kFolderLikeImage = "folder named like an image";

// Why a name is left out; "" when it counts. The words are keys of ImageFolder::ignored.
std::string_view reason_to_ignore(const DirectoryEntry& entry);

struct Listing {
  std::vector<std::string> folders;  // that count
  std::vector<std::string> images;   // files, and links to anything, with an image extension
  std::vector<std::string> archives;
  std::vector<std::string> tables;  // *.csv, *.tsv
  std::map<std::string, int64_t> ignored;
};

// One level. `is_root`: a folder runs/ is what trainings left there. Throws Io.
Listing list_level(const std::string& path, bool is_root);

// Throws Interrupted once a stop was asked for; while folders are walked, for every entry.
void throw_if_stopped(const std::stop_token& stop);

// Whether there is a file with an image extension below. Throws Interrupted.
bool holds_images(const std::string& folder, const std::stop_token& stop);

// What unpacks "animals.zip" into the folder images; "" when `path` is no archive.
std::string unpack_command(const std::string& path);

}  // namespace pounce
