// Measuring a trained model on a folder of images.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "pounce/train.h"

namespace pounce {

enum class SplitChoice { Val, Test, Train, All };

struct EvalConfig {
  std::string model;                 // model file, or run folder (its best)
  std::string data;                  // empty: the data folder of the run folder given as model
  std::string labels;                // as TrainConfig::labels; without `data` also the run's own
  std::optional<SplitChoice> split;  // default: val
  int batch_size = 64;               // no influence on any result
  int workers = 0;
  int threads = 0;
  std::string device = "auto";
  BadFilePolicy on_bad = BadFilePolicy::Skip;
};

// One image's result.
struct EvalRecord {
  std::string path;  // relative to the data folder
  int label = 0;
  std::vector<float> logits;  // one a class
};

struct ClassResult {
  std::string name;
  int64_t images = 0;
  int64_t correct = 0;
};

struct EvalResult {
  double accuracy = 0;  // correct / images
  double top5_accuracy = 0;
  double balanced_accuracy = 0;  // mean over the classes that have images
  bool is_imbalanced = false;    // class sizes of the images differ by more than 10:1
  double loss = 0;               // mean cross-entropy, no smoothing
  int64_t images = 0;
  std::vector<std::vector<int64_t>> confusion;  // [true][predicted]
  std::vector<ClassResult> per_class;
  std::vector<SkippedFileInfo> skipped;
  std::vector<std::string> notes;  // e.g. which images were taken
};

// `on_image` is called in the order of the scan. Throws Config for a class the model does not know,
// BadData for a damaged model file.
POUNCE_API EvalResult evaluate(const EvalConfig& config,
                               const std::function<void(const EvalRecord&)>& on_image = {},
                               std::stop_token stop = {});

}  // namespace pounce
