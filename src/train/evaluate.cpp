#include "pounce/evaluate.h"

#include <algorithm>
#include <map>

#include "base/cache_folder.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "data/loader.h"
#include "train/config_file.h"
#include "train/defaults.h"
#include "train/evaluation.h"
#include "train/inference.h"
#include "train/metrics.h"
#include "train/split_record.h"

namespace pounce {
namespace {

Split to_split(SplitChoice choice) {
  switch (choice) {
    case SplitChoice::Val:
      return Split::Val;
    case SplitChoice::Test:
      return Split::Test;
    case SplitChoice::Train:
      return Split::Train;
    case SplitChoice::All:
      return Split::All;
  }
  return Split::Val;
}

// A file of the run folder that the model is, or lies in.
std::string run_file(const EvalConfig& config, const char* name) {
  std::string folder = is_directory(config.model) ? config.model : parent_path(config.model);
  return join_path(folder, name);
}

std::string run_config(const EvalConfig& config) {
  return run_file(config, "config.toml");
}

std::string labels_of(const EvalConfig& config) {
  bool is_own_data = config.data.empty();
  return config.labels.empty() && is_own_data ? recorded_labels(run_config(config)) : config.labels;
}

std::string data_folder(const EvalConfig& config) {
  if (!config.data.empty()) return config.data;
  std::string recorded = recorded_data_folder(run_config(config));
  if (recorded.empty()) {
    fail_with_hint(ErrorKind::Config, "pounce eval MODEL DIR",
                   "no folder of images was given, and {} is not part of a run folder that names "
                   "one",
                   config.model);
  }
  return recorded;
}

// Where training held images of `root` back by rule: which it did, by the run's split.tsv. Empty
// for another folder and, with a note, when the file cannot be used.
std::map<std::string, Split> recorded_sides(const EvalConfig& config, const std::string& root,
                                            std::vector<std::string>& notes) {
  std::string trained_on = recorded_data_folder(run_config(config));
  if (trained_on.empty() || canonical_path(trained_on) != canonical_path(root)) return {};
  Result<std::map<std::string, Split>> sides = read_split_record(run_file(config, "split.tsv"));
  if (sides) return *std::move(sides);
  notes.push_back(
      fmt::format("{}; the rule of the model's split decides which images are held back",
                  sides.error().message()));
  return {};
}

// Counts one image after the other into an EvalResult.
class ResultBuilder {
 public:
  explicit ResultBuilder(const std::vector<std::string>& classes) : confusion_(classes.size()) {
    result_.confusion.assign(classes.size(), std::vector<int64_t>(classes.size()));
    for (const std::string& name : classes) result_.per_class.push_back({name, 0, 0});
  }
  void add(int label, std::span<const float> logits) {
    tally_.add(cross_entropy(logits, label), target_rank(logits, label));
    size_t predicted = size_t(argmax(logits));
    confusion_.add(label, int(predicted));
    ++result_.confusion[size_t(label)][predicted];
    ++result_.per_class[size_t(label)].images;
    result_.per_class[size_t(label)].correct += predicted == size_t(label);
  }
  EvalResult& finish() {
    result_.images = tally_.images;
    result_.accuracy = tally_.accuracy();
    result_.top5_accuracy = tally_.top5_accuracy();
    result_.loss = tally_.loss();
    result_.balanced_accuracy = confusion_.balanced_accuracy();
    result_.is_imbalanced = is_imbalanced(confusion_);
    return result_;
  }
  EvalResult& result() { return result_; }

 private:
  EvalResult result_;
  Tally tally_;
  Confusion confusion_;
};

SkippedFileInfo to_info(const SkippedFile& file) {
  return {file.path, skip_kind_name(file.kind), file.reason};
}

}  // namespace

EvalResult evaluate(const EvalConfig& config,
                    const std::function<void(const EvalRecord&)>& on_image, std::stop_token stop) {
  if (config.batch_size < 1 || config.batch_size > 65536) {
    fail(ErrorKind::Config, "batch-size is {}, expected 1 to 65536", config.batch_size);
  }
  std::string root = data_folder(config);
  InferenceModel model(config.model, config.batch_size, config.device, config.threads);
  std::vector<std::string> notes;
  std::map<std::string, Split> sides;
  SplitChoice split = config.split.value_or(SplitChoice::Val);
  bool is_by_side = split == SplitChoice::Val || split == SplitChoice::Train;
  if (is_by_side && model.info().split_fraction.value_or(0) > 0) {
    sides = recorded_sides(config, root, notes);
  }
  EvalSet set = scan_for_eval({.root = root,
                               .labels = labels_of(config),
                               .classes = model.info().classes,
                               .split = to_split(split),
                               .split_fraction = model.info().split_fraction,
                               .recorded_sides = std::move(sides),
                               .program = "pounce eval " + shell_word(config.model),
                               .on_bad = to_on_bad(config.on_bad),
                               .threads = config.workers,
                               .cache_folder = cache_folder(),
                               .stop = stop});
  ResultBuilder builder(model.info().classes);
  EvalResult& result = builder.result();
  result.notes = std::move(notes);
  result.notes.insert(result.notes.end(), set.notes.begin(), set.notes.end());
  for (const SkippedFile& file : set.skipped) result.skipped.push_back(to_info(file));

  BatchLoader loader({.root = set.root,
                      .batch_size = config.batch_size,
                      .preprocessing = model.preprocessing(),
                      .augmentation = {.enabled = false},
                      .shuffle = false,
                      .workers = config.workers,
                      .stop = stop},
                     set.samples);
  auto on_batch = [&](const ImageBatch& batch, std::span<const float> logits) {
    size_t classes = model.info().classes.size();
    for (size_t i = 0; i < size_t(batch.size()); ++i) {
      std::span<const float> row = logits.subspan(i * classes, classes);
      if (!all_finite(row)) {
        throw no_finite_logits().add_context("at " + set.samples.path(batch.indices[i]));
      }
      builder.add(batch.labels[i], row);
      if (on_image) {
        on_image({set.samples.path(batch.indices[i]), batch.labels[i], {row.begin(), row.end()}});
      }
    }
    for (const SkippedFile& hole : batch.holes) {
      if (config.on_bad == BadFilePolicy::Stop) {
        fail(ErrorKind::BadData, "{}: {}", hole.path, hole.reason);
      }
      result.skipped.push_back(to_info(hole));
    }
  };
  evaluate_loader(model.session(), model.spec(), loader, stop, on_batch);
  if (stop.stop_requested()) fail(ErrorKind::Interrupted, "evaluation was interrupted");
  return builder.finish();
}

}  // namespace pounce
