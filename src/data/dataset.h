// A folder of images as lists of samples: finds splits and classes, reads the header of every file,
// applies the split rule, and says what was skipped or ignored and why.
// Rules: docs of `pounce train`, "folder forms". Reads headers only; never writes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "data/sample_list.h"

namespace pounce {

enum class SkipKind { Damaged, Unreadable, Unsupported };
// "damaged", "unreadable", "unsupported": the words of skipped.tsv.
const char* skip_kind_name(SkipKind kind);

struct SkippedFile {
  std::string path;  // relative to the root
  SkipKind kind = SkipKind::Damaged;
  std::string reason;
};

enum class Layout {
  Splits,        // train/ and val/ (or their other names)
  TrainOnly,     // train/ without val/: validation by rule
  ClassFolders,  // class folders alone: validation by rule
};

struct ClassCounts {
  int64_t train = 0, val = 0, test = 0;  // usable images
  int64_t skipped = 0;                   // in all splits
};

struct ImageFolder {
  std::string root;  // where the splits or classes lie: below a wrapper folder, if there was one
  Layout layout = Layout::ClassFolders;
  std::vector<std::string> classes;  // in NFC, in code-point order as torchvision's ImageFolder
  SampleList train, val, test;       // in path order
  std::vector<SkippedFile> skipped;  // in path order
  std::vector<std::string> empty_classes;
  std::vector<ClassCounts> class_counts;               // one a class
  std::map<std::string, int64_t> ignored;              // reason to count
  std::map<std::string, int64_t> unsupported_formats;  // "WebP" to count
  // Whole sentences for the reader: a wrapper was descended; many images have no label.
  std::vector<std::string> notes, warnings;
  bool split_by_rule = false;
  double val_fraction = 0;  // of the rule; 0 when there is none
};

// How far a scan has come, for whoever waits.
struct ScanCount {
  int64_t files = 0;  // found while folders are listed, then judged by their header
  int64_t total = 0;  // of all folders listed together; 0 while they are being listed
};
// Called in the thread that scans, a few times a second.
using ScanObserver = std::function<void(const ScanCount&)>;

enum class OnBad {
  Auto,  // skip, but refuse when over 10 % of a class is unusable
  Skip,
  Stop,  // refuse the first
};

struct ScanOptions {
  std::string root;
  // Where folders do not name the classes: "names" (cat.0.jpg), "FILE.csv" or
  // "FILE.csv:file,label"; "" for folders, or a Hugging Face metadata.csv among the images.
  std::string labels{};
  double val_fraction = 0.2;  // 0: no validation; used when there is no validation folder
  OnBad on_bad = OnBad::Auto;
  int threads = 0;  // 0: usable_cores()
  // Where an index of the headers is kept, see scan_index.h; "" for none. Beside time it changes
  // nothing.
  std::string cache_folder{};
  ScanObserver progress{};
  std::stop_token stop{};
};

// For training. Throws Config for a folder that cannot be trained on (missing, empty, one class,
// flat without labels, an archive, mixed layout, only unsupported formats, too many unusable files,
// two folders of one class, a class name that is not UTF-8, labels that fit no image or contradict
// each other), Io when the operating system refuses, BadData for OnBad::Stop, Interrupted when
// stopped.
ImageFolder scan_dataset(const ScanOptions& options);

enum class Split { Train, Val, Test, All };

struct EvalScanOptions {
  std::string root;
  std::string labels{};              // as ScanOptions::labels
  std::vector<std::string> classes;  // of the model, in its order; matched in NFC
  Split split = Split::Val;
  // The model's split rule; with it and no validation folder, Val means the held-back part.
  std::optional<double> split_fraction{};
  // Where the rule applies: the sides (Train or Val) that training recorded, by path relative to
  // the root; images that are not listed go by the rule.
  std::map<std::string, Split> recorded_sides{};
  std::string program = "pounce eval MODEL";  // what is typed in front of the root; for hints
  OnBad on_bad = OnBad::Skip;                 // Auto acts as Skip
  int threads = 0;
  std::string cache_folder{};  // as in ScanOptions
  ScanObserver progress{};
  std::stop_token stop{};
};

struct EvalSet {
  std::string root;
  SampleList samples;  // labels index the model's classes; path order
  std::vector<SkippedFile> skipped;
  std::vector<std::string> absent_classes;  // of the model, without an image here
  std::map<std::string, int64_t> ignored;
  std::vector<std::string> notes;
  int64_t unrecorded = 0;       // samples that EvalScanOptions::recorded_sides does not list
  bool held_back_only = false;  // the split rule, or its record, chose the samples
};

// For `pounce eval`. A class folder unknown to the model is a Config error that names it.
EvalSet scan_for_eval(const EvalScanOptions& options);

// Every file below `folder` with an image extension, as paths that start with `folder`, in
// code-point order; hidden ones left out. For `pounce predict`. Throws Io, Interrupted.
std::vector<std::string> find_image_files(const std::string& folder,
                                          const std::stop_token& stop = {});

}  // namespace pounce
