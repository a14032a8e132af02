// Which of the known forms a folder has, and the image files below it by split and class. Looks at
// names only; contents are read by header_scan.h. Internal to src/data.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "data/dataset.h"

namespace pounce {

struct FolderForm {
  std::string root;              // below a wrapper folder, if there was one
  std::string train, val, test;  // folder names; all empty for class folders alone
  std::vector<std::string> notes;

  bool has_splits() const { return !train.empty() || !val.empty() || !test.empty(); }
};

// `known_classes` (for evaluation; may be empty): a single folder of such a name is a class and no
// wrapper. Throws Config for a missing or empty folder, a file, an archive, a flat folder, a mix of
// splits and classes; Io without rights.
FolderForm find_folder_form(const std::string& path, const std::vector<std::string>& known_classes);

struct Candidate {
  std::string path;  // relative to the root
  bool is_dangling_link = false;
};

struct ClassFolder {
  std::string name;
  std::vector<Candidate> files;  // in path order; names with an image extension
};

struct SplitTree {
  std::string folder;                 // relative to the root; "" for class folders alone
  std::vector<ClassFolder> classes;   // in code-point order; also empty ones
  std::vector<SkippedFile> unlisted;  // folders that cannot be listed
};

// The class folders of one split. Adds to `ignored`. Throws Io when the split cannot be listed.
SplitTree list_split(const FolderForm& form, const std::string& folder,
                     std::map<std::string, int64_t>& ignored);

// "animals.zip" and what unpacks it, "" when `name` is no archive.
std::string unpack_command(const std::string& path);

}  // namespace pounce
