// Which of the known forms a folder has, and the image files below it by split and class. Looks at
// names (and tables of labels) only; image files are read by header_scan.h. Internal to src/data.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "data/dataset.h"
#include "data/folder_errors.h"
#include "data/label_source.h"

namespace pounce {

struct FormRequest {
  std::string path;
  std::string labels;  // "", "names", "FILE.csv" or "FILE.csv:file,label"
  // For evaluation; may be empty: a single folder of such a name (NFC) is a class and no wrapper.
  std::vector<std::string> known_classes;
  std::string program = "pounce train";  // what is typed in front of the path; for hints
  std::stop_token stop{};
};

struct FolderForm {
  std::string root;                     // below a wrapper folder, if there was one
  std::string train, val, test;         // folder names; all empty without splits
  std::shared_ptr<LabelSource> labels;  // null: the folders are the classes
  TypedCommand typed;
  std::map<std::string, int64_t> ignored;  // beside the split folders
  std::vector<std::string> notes;
  std::stop_token stop;  // of the request; list_split looks at it, too

  bool has_splits() const { return !train.empty() || !val.empty() || !test.empty(); }
};

// Throws Config for a missing or empty folder, a file, an archive, a flat folder without labels, a
// mix of splits and classes, labels that cannot be read; Io without rights; Interrupted.
FolderForm find_folder_form(const FormRequest& request);

struct ClassFolder {
  std::string name;  // in NFC
  int64_t files = 0;
  std::string first_path;  // of the files, in path order
};

struct SplitTree {
  std::string folder;                 // relative to the root; "" without splits
  std::vector<ClassFolder> classes;   // in code-point order; also empty ones
  SampleList files;                   // names with an image extension; label: index into `classes`
  std::vector<SkippedFile> unlisted;  // folders that cannot be listed
};

struct ListingOptions {
  int threads = 0;
  std::function<void(int64_t files)> progress{};  // in the caller's thread, now and then
};

// The classes of one split: its folders, or what the labels say. Adds to `ignored`. Throws Config
// for a split without images, for two folders of one name in NFC and for a class whose name is not
// UTF-8 (a model file could not hold it); Io when it cannot be listed; Interrupted.
SplitTree list_split(const FolderForm& form, const std::string& folder,
                     std::map<std::string, int64_t>& ignored, const ListingOptions& options = {});

// What the name of a folder says where splits are expected; nothing for other names.
std::optional<Split> split_of_folder(std::string_view name);

// Keys of `ignored`: images in the folder itself where its folders are the classes or splits.
inline constexpr const char* kOutsideClasses = "image outside the class folders";
inline constexpr const char* kOutsideSplits = "image outside the split folders";
// "6 images lie beside the class folders and are left out; move them into one", for either kind.
std::vector<std::string> stray_image_notes(const std::map<std::string, int64_t>& ignored);

// Whether images lie in the folder itself and none below: nothing says their classes.
bool is_flat(const std::string& path, const std::stop_token& stop);

}  // namespace pounce
