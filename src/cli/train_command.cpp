#include "base/system.h"
#include "cli/commands.h"
#include "cli/json_events.h"
#include "cli/terminal_view.h"

namespace pounce::cli {
namespace {

ViewOptions view_options(const OutputSettings& settings) {
  ViewOptions options;
  options.progress = settings.progress;
  if (settings.progress == ProgressMode::Auto) {
    options.progress = can_redraw() ? ProgressMode::Bar : ProgressMode::Plain;
  }
  // With --json the events say everything; a display only on request.
  options.quiet = settings.quiet || (settings.json && settings.progress == ProgressMode::Auto);
  options.verbose = settings.verbose;
  options.width = [] { return terminal_width(kStderr); };
  options.clock = monotonic_seconds;
  return options;
}

}  // namespace

int run_train(Session& session) {
  const OutputSettings& settings = session.settings.output;
  Output& output = session.output;
  TerminalView view(view_options(settings), output);
  TrainingRun training(session.settings.train, [&](const Event& event) {
    view.handle(event);
    if (!settings.json) return;
    if (std::string line = event_json(event); !line.empty()) output.result(line);
  });
  if (session.settings.dry_run) {
    training.dry_run(session.stop.token());
    if (!settings.quiet) output.message("dry run: nothing was trained and nothing was written");
    return 0;
  }
  RunEnd end = training.run(session.stop.token());
  if (!settings.json && !end.model.empty()) output.result(end.model);
  return end.interrupted ? session.stop.exit_code() : 0;
}

}  // namespace pounce::cli
