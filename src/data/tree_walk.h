// The image files below some folders, listed by several threads: every folder is read once, and the
// file system is asked about nothing but folders and links that may lead to one. What is found is
// held in a few bytes a file. Internal to src/data.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "data/dataset.h"

namespace pounce {

struct TreeWalkOptions {
  std::string root;               // of the data set
  std::vector<std::string> tops;  // relative to the root; "" is the root, whose runs/ is left out
  // Whether the path of a file is a table of labels, which is no stray file. By several threads.
  std::function<bool(const std::string& path)> is_table{};
  int threads = 0;
  std::stop_token stop{};
  std::function<void(int64_t files)> progress{};  // in the caller's thread, now and then
};

class TreeWalk {
 public:
  // Throws Interrupted.
  explicit TreeWalk(const TreeWalkOptions& options);

  // Every image in path order. `path`: relative to the root; `top`: index into the tops.
  void for_each(const std::function<void(size_t top, const std::string& path)>& take) const;

  std::map<std::string, int64_t> ignored;  // reason to count
  std::vector<SkippedFile> unlisted;       // folders that cannot be listed, by path

 private:
  struct Folder;
  struct Subfolder;
  void list(const TreeWalkOptions& options, Folder& folder) const;
  bool is_circle(const Folder& folder, const FileId& id) const;
  void emit(const Folder& folder,
            const std::function<void(size_t top, const std::string& path)>& take) const;

  // A name in a folder, in path order.
  struct Subfolder {
    std::string name;
    uint32_t files_before = 0;
    FileId id;
    size_t index = 0;  // into folders_
  };
  struct Folder {
    std::string path;
    size_t top = 0;
    size_t parent = kNone;      // into folders_
    std::vector<FileId> chain;  // the folder itself and, for a top, all above it
    std::string names;          // of the images, each with a zero at its end
    uint32_t files = 0;
    std::vector<Subfolder> subfolders;
    std::map<std::string, int64_t> ignored;
    std::string failure;
  };
  static constexpr size_t kNone = SIZE_MAX;
  std::vector<Folder> folders_;
};

}  // namespace pounce
