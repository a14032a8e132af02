#include <cerrno>
#include <cstdio>
#include <iostream>

#include <fmt/format.h>

#include "base/error.h"
#include "base/file.h"
#include "base/system.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/json_events.h"
#include "cli/predict_paths.h"

namespace pounce::cli {
namespace {

// Paths on standard input are answered in portions, so that a slow writer sees results.
constexpr size_t kPortion = 256;

class PredictRun {
 public:
  explicit PredictRun(Session& session)
      : session_(session), predictor_(session.settings.predict_model, session.settings.predict) {}

  void add(const std::string& path) {
    FoundPaths found = expand_path(path);
    for (const Error& error : found.failures) report_failure(path, error);
    waiting_.insert(waiting_.end(), found.images.begin(), found.images.end());
    if (waiting_.size() >= kPortion) flush();
  }

  void flush() {
    std::vector<std::string> portion = std::move(waiting_);
    waiting_.clear();
    if (portion.empty()) return;
    predictor_.predict(
        portion, [this](const Prediction& prediction) { report(prediction); },
        session_.stop.token());
  }

  bool has_failures() const { return has_failures_; }

 private:
  // Bytes as they are for a program that reads them; nothing that steers the terminal of a person.
  std::string shown(const std::string& name) const { return is_terminal_ ? printable(name) : name; }

  void report(const Prediction& prediction) {
    if (prediction.error) {
      report_failure(prediction.path, *prediction.error);
    } else if (session_.settings.output.json) {
      session_.output.result(prediction_json(prediction));
    } else {
      std::string line = fmt::format("{}\t{}\t{:.4f}", shown(prediction.path),
                                     shown(prediction.class_name), prediction.probability);
      session_.output.result(line);
    }
  }

  // One line on standard error, with the path exactly once.
  void report_failure(const std::string& path, const Error& error) {
    has_failures_ = true;
    Output& output = session_.output;
    bool is_named = error.message().find(path) != std::string::npos;
    output.finished_text(fmt::format("pounce: {} {}", output.paint(Style::Error, "error:"),
                                     printable((is_named ? "" : path + ": ") + error.message())));
    if (!session_.settings.output.json) return;
    Prediction failed;
    failed.path = path;
    failed.error = error;
    output.result(prediction_json(failed));
  }

  Session& session_;
  Predictor predictor_;
  std::vector<std::string> waiting_;
  bool is_terminal_ = is_terminal(kStdout);
  bool has_failures_ = false;
};

}  // namespace

int run_predict(Session& session) {
  PredictRun run(session);
  for (const std::string& path : session.settings.paths) {
    if (path == "-") {
      read_paths(std::cin, session.settings.nul_separated,
                 [&](const std::string& line) { run.add(line); });
      if (std::ferror(stdin) != 0) {
        fail(ErrorKind::Io, "cannot read paths from standard input: {}", os_error_text(errno));
      }
    } else {
      run.add(path);
    }
  }
  run.flush();
  if (session.stop.was_requested()) return session.stop.exit_code();
  return run.has_failures() ? 1 : 0;
}

}  // namespace pounce::cli
