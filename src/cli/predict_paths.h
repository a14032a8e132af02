// The images that the arguments of `pounce predict` stand for.
#pragma once

#include <functional>
#include <istream>
#include <string>
#include <vector>

#include "pounce/error.h"

namespace pounce::cli {

struct FoundPaths {
  std::vector<std::string> images;
  std::vector<Error> failures;  // folders that cannot be listed or hold no image
};

// A folder gives every file below it that has the extension of an image, in code-point order,
// hidden ones left out; anything else stands for itself, so that a missing file is reported where
// images are read.
FoundPaths expand_path(const std::string& path);

// Calls `take` once a path of `stream`, which ends each with a line feed, or NUL.
void read_paths(std::istream& stream, bool nul_separated,
                const std::function<void(const std::string&)>& take);

}  // namespace pounce::cli
