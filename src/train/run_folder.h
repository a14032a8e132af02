// The folder a run leaves behind. Every file is complete under its name or absent; logs grow by
// whole lines.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/file.h"
#include "data/dataset.h"
#include "engine/session.h"
#include "pounce/train.h"
#include "train/validation.h"

namespace pounce {

class RunFolder {
 public:
  // Creates `config.out`, which must not exist (an empty folder is fine), or runs/<folder>-N beside
  // the data when the working directory lies inside it. Throws Config for a folder that is taken or
  // lies inside the data, Io where it cannot be made.
  explicit RunFolder(const TrainConfig& config);

  // What the constructor would refuse, without making anything.
  static void check(const TrainConfig& config);

  const std::string& path() const { return path_; }
  std::string best_model() const { return join_path(path_, "best.safetensors"); }
  std::string last_model() const { return join_path(path_, "last.safetensors"); }

  // Takes a start that failed back, so that the name is free for the next one: every file of the
  // run, and the folder unless it was there before.
  void discard() noexcept;

  void write_config(const TrainConfig& config);
  // Which image belongs to which split: path, split, class.
  void write_split(const ImageFolder& dataset);
  // Implementation of every node, precision, memory: what makes bits equal besides the version.
  void write_plan_record(const Session& session, const std::string& libraries,
                         std::string_view precision);
  void write_skipped(const std::vector<SkippedFile>& skipped);
  // confusion.csv and worst.csv of the best model.
  void write_validation(const Validation& validation, const ImageFolder& data);
  // metrics.csv and log.jsonl.
  void append_epoch(const EpochEnd& epoch);
  void append_event(const Event& event);
  void append_error(const Error& error);

 private:
  void open_logs();

  bool was_there_ = false;  // empty, before the run
  std::string path_;
  std::unique_ptr<AppendFile> metrics_;
  std::unique_ptr<AppendFile> log_;
};

}  // namespace pounce
