#include <algorithm>
#include <chrono>

#include "base/cache_folder.h"
#include "base/file.h"
#include "data/disk_cache.h"
#include "pounce/cache.h"

namespace pounce {
namespace {

double seconds_since(int64_t time_ns) {
  using namespace std::chrono;
  int64_t now = duration_cast<nanoseconds>(system_clock::now().time_since_epoch()).count();
  return std::max(0.0, double(now - time_ns) * 1e-9);
}

bool is_selected(const CacheFileInfo& file, const CacheSelection& selection) {
  constexpr double kSecondsOfDay = 86'400;
  if (file.idle_seconds < selection.older_than_days * kSecondsOfDay) return false;
  // The roots in the files are canonical already, and the folder may have gone.
  std::string root = selection.data.empty() ? "" : canonical_path(selection.data);
  return root.empty() || root == "/" || file.data == root || file.data.starts_with(root + "/");
}

}  // namespace

CacheReport list_cache(const CacheSelection& selection) {
  CacheReport report;
  report.folder = cache_folder();
  if (report.folder.empty()) return report;
  report.images_limit = int64_t(default_disk_cache_limit(report.folder));
  for (const CacheFile& file : list_cache_files(report.folder)) {
    CacheFileInfo info{.path = file.path,
                       .kind = file.header.kind,
                       .data = file.header.root,
                       .bytes = int64_t(file.bytes),
                       .idle_seconds = seconds_since(file.last_used_ns)};
    if (!is_selected(info, selection)) continue;
    report.bytes += info.bytes;
    report.files.push_back(std::move(info));
  }
  return report;
}

CacheReport clear_cache(const CacheSelection& selection) {
  CacheReport report = list_cache(selection);
  std::erase_if(report.files, [&](const CacheFileInfo& file) {
    bool is_removed = remove_cache_file(file.path);
    if (!is_removed) report.bytes -= file.bytes;
    return !is_removed;
  });
  return report;
}

}  // namespace pounce
