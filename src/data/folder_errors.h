// What is said about folders that cannot be used: what was found, and the command to type next.
// Internal to src/data.
#pragma once

#include <string>

#include "data/folder_listing.h"

namespace pounce {

// What the reader typed to get here.
struct TypedCommand {
  std::string program;  // "pounce train"
  std::string line;     // "pounce train photos"
};

// "put the images of each class ...: photos/cat/1.jpg, photos/dog/2.jpg".
std::string expected_form(const std::string& folder);

// Throws unless `path` is a folder. `program`: as above.
void require_folder(const std::string& path, const std::string& program);

// For a folder without class folders that hold images: flat, an archive, or nothing at all.
// `takes_labels`: --labels would help.
[[noreturn]] void fail_without_classes(const std::string& path, const Listing& listing,
                                       const TypedCommand& typed, bool takes_labels);

}  // namespace pounce
