#include <fmt/format.h>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/json_events.h"
#include "cli/table.h"
#include "pounce/cache.h"

namespace pounce::cli {
namespace {

std::string file_table(const CacheReport& report) {
  std::vector<Row> rows = {{"kind", "data set", "size", "last used"}};
  for (const CacheFileInfo& file : report.files) {
    bool is_damaged = file.kind.empty();
    rows.push_back({is_damaged ? "damaged" : file.kind, is_damaged ? file.path : file.data,
                    human_bytes(file.bytes), human_duration(file.idle_seconds) + " ago"});
  }
  return table(std::move(rows), 2).substr(1);  // without the first line feed
}

std::string sum(const CacheReport& report) {
  return fmt::format("{}, {}", count_of(int64_t(report.files.size()), "file", "files"),
                     human_bytes(report.bytes));
}

std::string shown(const CacheReport& report) {
  if (report.folder.empty()) return "no cache folder: neither HOME nor POUNCE_CACHE_DIR is set";
  std::string folder = printable(report.folder);
  if (report.files.empty()) return fmt::format("nothing is cached in {}", folder);
  return fmt::format(
      "{}\n\n{} in {}; cached images may take {} unless --cache-limit says otherwise",
      file_table(report), sum(report), folder, human_bytes(report.images_limit));
}

std::string cleared(const CacheReport& report) {
  if (report.files.empty()) return "nothing to remove";
  return fmt::format("{}\n\nremoved {} from {}", file_table(report), sum(report),
                     printable(report.folder));
}

}  // namespace

int run_cache(Session& session) {
  const Settings& settings = session.settings;
  CacheReport report =
      settings.clear_cache ? clear_cache(settings.cache) : list_cache(settings.cache);
  std::string text = settings.clear_cache ? cleared(report) : shown(report);
  session.output.result(settings.output.json ? cache_json(report, settings.clear_cache) : text);
  return 0;
}

}  // namespace pounce::cli
