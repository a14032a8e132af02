#include <optional>

#include <fmt/format.h>

#include "base/error.h"
#include "base/file.h"
#include "cli/commands.h"
#include "cli/eval_report.h"
#include "cli/json_events.h"

namespace pounce::cli {
namespace {

constexpr size_t kSkippedFilesNamed = 10;

void report_notes(Session& session, const EvalResult& result) {
  const OutputSettings& settings = session.settings.output;
  Output& output = session.output;
  for (const std::string& note : result.notes) {
    if (settings.json) output.result(event_json(NoteIssued{note}));
    if (settings.json || settings.quiet) continue;
    output.message(Style::Note, "note:", note);
  }
  if (settings.json || settings.quiet) return;
  for (size_t i = 0; i < result.skipped.size() && i < kSkippedFilesNamed; ++i) {
    const SkippedFileInfo& file = result.skipped[i];
    output.message(Style::Warning, "warning:",
                   fmt::format("skipped {}: {}: {}", file.path, file.kind, file.reason));
  }
  if (result.skipped.size() > kSkippedFilesNamed) {
    output.message(
        Style::Warning, "warning:",
        fmt::format("{} more files were skipped", result.skipped.size() - kSkippedFilesNamed));
  }
}

// An earlier dump may be replaced, as any output; a model, a photo or a table must not be.
void refuse_to_replace(const std::string& path) {
  if (!is_regular_file(path)) return;
  constexpr std::string_view kStart = "{\"path\":";
  std::string start(kStart.size(), '\0');
  Result<InputFile> file = InputFile::open(path);
  if (!file) return;  // opening it for writing will say more
  Result<size_t> n =
      file->read_at(0, std::span(reinterpret_cast<uint8_t*>(start.data()), start.size()));
  if (!n || *n == 0 || start == kStart) return;
  fail_with_hint(ErrorKind::Config, "give --dump a name that is free",
                 "--dump {}: the file exists and holds something else than a dump", path);
}

}  // namespace

int run_eval(Session& session) {
  const Settings& settings = session.settings;
  // Opened first: a dump that cannot be written must not cost an evaluation.
  std::optional<AtomicFile> dump;
  std::function<void(const EvalRecord&)> on_image;
  if (!settings.dump.empty()) {
    refuse_to_replace(settings.dump);
    dump.emplace(settings.dump);
    on_image = [&dump](const EvalRecord& record) { dump->write(dump_json(record) + "\n"); };
  }
  EvalResult result = evaluate(settings.eval, on_image, session.stop.token());
  if (dump) dump->commit();
  report_notes(session, result);
  session.output.result(settings.output.json ? eval_json(result) : eval_report(result));
  return 0;
}

}  // namespace pounce::cli
