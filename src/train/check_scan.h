// The images of a folder by split and class as `pounce check` counts them: as training takes them,
// and where training refuses the folder, as their paths say.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "pounce/check.h"

namespace pounce {

constexpr std::array<const char*, 3> kSplitNames = {"train", "val", "test"};

struct CheckScan {
  std::string root;
  std::vector<std::string> classes;       // in training's order
  std::array<SampleList, 3> images;       // by split; label -1 where nothing says the class
  std::vector<int64_t> skipped_by_class;  // of all splits
  std::vector<SkippedFile> skipped;       // by path
  std::map<std::string, int64_t> ignored, unsupported_formats;
  std::vector<std::string> empty_classes, notes;
  std::optional<TrainRefusal> refusal;
};

// Throws Config where there is no such folder, Io, Interrupted.
CheckScan scan_for_check(const CheckConfig& config, const CheckObserver& observer,
                         const std::stop_token& stop);

}  // namespace pounce
