#include <fmt/format.h>

#include "base/system.h"
#include "base/text.h"
#include "cli/check_json.h"
#include "cli/check_report.h"
#include "cli/commands.h"
#include "cli/terminal_view.h"

namespace pounce::cli {
namespace {

// Shows how far the work is, once it takes long and where somebody watches.
class CheckProgress {
 public:
  explicit CheckProgress(Output& output) : output_(output) {}

  void show(int64_t files, int64_t total) {
    constexpr double kSecondsBefore = 1, kSecondsBetween = 1.0 / 6;
    double now = monotonic_seconds();
    if (now - began_ < kSecondsBefore || now - last_drawn_ < kSecondsBetween) return;
    last_drawn_ = now;
    output_.progress(scan_line(files, total, terminal_width(kStderr) - 1));
  }

 private:
  Output& output_;
  double began_ = monotonic_seconds(), last_drawn_ = 0;
};

}  // namespace

int run_check(Session& session) {
  const Settings& settings = session.settings;
  CheckProgress progress(session.output);
  CheckObserver observer;
  if (can_redraw() && !settings.output.quiet && !settings.output.json) {
    observer = [&](int64_t files, int64_t total) { progress.show(files, total); };
  }
  CheckReport report = check_folder(settings.check, observer, session.stop.token());
  session.output.clear_progress();
  session.output.result(settings.output.json ? check_json(report)
                                             : check_report(report, settings.output.verbose));
  return settings.check_strict && report.findings() > 0 ? 1 : 0;
}

}  // namespace pounce::cli
