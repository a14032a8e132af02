// Training events as lines for people.
#pragma once

#include <functional>
#include <string>

#include "cli/output.h"
#include "pounce/train.h"

namespace pounce::cli {

struct ViewOptions {
  ProgressMode progress = ProgressMode::Plain;  // Auto is for the caller to decide
  bool quiet = false;                           // nothing at all
  bool verbose = false;
  std::function<int()> width = {};     // columns of the terminal
  std::function<double()> clock = {};  // seconds
};

class TerminalView {
 public:
  TerminalView(ViewOptions options, Output& output);

  void handle(const Event& event);

 private:
  void show(const ScanProgress& event);
  void show(const RunBegin& event);
  void show(const WeightsLoaded& event);
  void show(const StepProgress& event);
  void show(const EpochEnd& event);
  void show(const CheckpointSaved& event);
  void show(const WarningIssued& event);
  void show(const NoteIssued& event);
  void show(const ProgramBuilt& event);
  void show(const RunEnd& event);

  ViewOptions options_;
  Output& output_;
  double last_drawn_ = -1;
  double scan_began_ = -1;
  bool is_imbalanced_ = false;  // of the run in progress
};

// The progress line in at most `width` columns: the parts that do not fit are left out, the least
// important first.
std::string progress_line(const StepProgress& progress, int width);
// "scanning  [====    ]  41,200/100,000 files", or "listing  41,200 files".
std::string scan_line(int64_t files, int64_t total, int width);
// "epoch  3/40  train 0.693 54.1%  val 0.680 57.6%  45 img/s  ..."
// `with_balanced`: balanced accuracy beside accuracy.
std::string epoch_line(const EpochEnd& epoch, bool with_balanced = false);

}  // namespace pounce::cli
