// What is wrong with a folder of images, and what is in it: found before a training is.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "pounce/error.h"
#include "pounce/export.h"
#include "pounce/train.h"

namespace pounce {

struct CheckConfig {
  std::string data{};
  std::string labels{};  // as TrainConfig::labels
  bool quick = false;    // headers only: damage in the body and duplicates stay unknown
  int workers = 0;       // 0: as many as there are cores
};

// Usable images, by split. Where the folder has no validation part, `val` is what training would
// hold back.
struct CheckClass {
  std::string name;
  int64_t train = 0, val = 0, test = 0;
  int64_t unusable = 0;
};

struct CheckFile {
  std::string path;        // relative to the root
  std::string split;       // "train", "val", "test"
  std::string class_name;  // empty where no folder and no label says it
};

// Files of the same content, byte for byte.
struct DuplicateGroup {
  std::vector<CheckFile> files;  // two or more, by path
  bool is_across_splits = false;
  bool is_across_classes = false;
};

// Two files of different splits that show the same picture: encoded again, resized, or mirrored.
// `second` is in the later split and is named once; `first` may be one of several.
struct NearDuplicate {
  CheckFile first, second;
  bool is_mirrored = false;
};

// A class that one split has and another lacks.
struct ClassDifference {
  std::string class_name;
  std::string present, absent;  // splits: "train", "val"
  int64_t images = 0;           // of the class, where it is present
};

struct ValueRange {
  double min = 0, median = 0, max = 0;
};

// Of usable images, as they are stored.
struct SizeSummary {
  ValueRange width{}, height{};
  ValueRange aspect{};                        // long side / short side
  std::map<int, int64_t> short_side_under{};  // image size to count
};

// What `pounce train` says to this folder instead of training.
struct TrainRefusal {
  std::string message, hint;
};

struct CheckReport {
  std::string root;  // where the splits or classes lie
  std::vector<CheckClass> classes;
  int64_t usable = 0;
  std::vector<SkippedFileInfo> damaged, unreadable, unsupported;  // by path
  std::map<std::string, int64_t> unsupported_formats;             // "WebP" to count
  std::map<std::string, int64_t> ignored;                         // reason to count
  std::vector<std::string> empty_classes;
  std::vector<ClassDifference> differences;
  bool is_quick = false;  // the next two were not looked for
  std::vector<DuplicateGroup> duplicates;
  std::vector<NearDuplicate> near_duplicates;
  std::optional<SizeSummary> sizes;  // absent without a usable image
  double imbalance = 1;              // training images of the largest class / of the smallest
  std::optional<TrainRefusal> refusal;
  std::vector<std::string> notes;  // what the scan decided, as sentences

  // Something that a careful person would look at before training: anything but sizes and notes.
  // How many kinds of such things there are.
  int findings() const;
};

// Above this, imbalance is a finding.
inline constexpr double kMostImbalance = 10;

// `files` of `total` are done; total 0: they are still being listed. In the caller's thread.
using CheckObserver = std::function<void(int64_t files, int64_t total)>;

// Writes nothing into the folder. Throws Config where there is no such folder, Io, Interrupted.
POUNCE_API CheckReport check_folder(const CheckConfig& config, const CheckObserver& observer = {},
                                    std::stop_token stop = {});

}  // namespace pounce
