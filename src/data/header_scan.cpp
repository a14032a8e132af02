#include "data/header_scan.h"

#include <algorithm>
#include <optional>

#include "base/checksum.h"
#include "base/file.h"
#include "base/parallel.h"
#include "base/system.h"
#include "data/header.h"

namespace pounce {
namespace {

struct Job {
  const Candidate* file = nullptr;
  int32_t label = 0;
};

struct Outcome {
  ImageHeader header;
  std::optional<SkippedFile> skipped;
  ImageFormat unsupported_format = ImageFormat::Unknown;
};

Outcome examine(const Job& job, const std::string& root) {
  Outcome outcome;
  const std::string& path = job.file->path;
  if (job.file->is_dangling_link) {
    outcome.skipped = SkippedFile{path, SkipKind::Unreadable, "the link leads nowhere"};
    return outcome;
  }
  Result<ImageHeader> header =
      read_image_header(join_path(root, path), &outcome.unsupported_format);
  if (header) {
    outcome.header = *header;
  } else {
    outcome.skipped = skipped_file(path, header.error());
  }
  return outcome;
}

std::vector<Outcome> examine_all(const std::vector<Job>& jobs, const HeaderScanOptions& options) {
  constexpr size_t kFilesWorthAThread = 32;
  size_t wanted = size_t(options.threads > 0 ? options.threads : usable_cores());
  int threads = int(std::min(wanted, jobs.size() / kFilesWorthAThread + 1));
  std::vector<Outcome> outcomes(jobs.size());
  for_each_parallel(threads, jobs.size(), [&](size_t i) {
    if (options.stop.stop_requested()) fail(ErrorKind::Interrupted, "stopped");
    outcomes[i] = examine(jobs[i], options.root);
  });
  return outcomes;
}

std::vector<Job> list_jobs(const std::vector<LabelledFolder>& folders) {
  std::vector<Job> jobs;
  for (const LabelledFolder& entry : folders) {
    for (const Candidate& file : entry.folder->files) jobs.push_back({&file, entry.label});
  }
  std::sort(jobs.begin(), jobs.end(),
            [](const Job& a, const Job& b) { return a.file->path < b.file->path; });
  return jobs;
}

}  // namespace

SkippedFile skipped_file(const std::string& path, const Error& error) {
  SkipKind kind = SkipKind::Damaged;
  if (error.kind() == ErrorKind::Io) kind = SkipKind::Unreadable;
  if (error.kind() == ErrorKind::Unsupported) kind = SkipKind::Unsupported;
  std::string reason = error.message();
  // "cannot read /long/way/x.jpg: permission denied": the path stands beside already.
  size_t at = reason.find(path + ": ");
  if (kind == SkipKind::Unreadable && at != std::string::npos) {
    reason = reason.substr(at + path.size() + 2);
  }
  return {path, kind, reason};
}

HeaderScan scan_headers(const std::vector<LabelledFolder>& folders,
                        const HeaderScanOptions& options) {
  std::vector<Job> jobs = list_jobs(folders);
  std::vector<Outcome> outcomes = examine_all(jobs, options);
  HeaderScan scan;
  for (size_t i = 0; i < jobs.size(); ++i) {
    Outcome& outcome = outcomes[i];
    const std::string& path = jobs[i].file->path;
    if (!outcome.skipped) {
      scan.samples.push_back(
          {path, jobs[i].label, xxh3_64(path), outcome.header.width, outcome.header.height});
      continue;
    }
    if (options.stop_at_first_bad) {
      fail_with_hint(ErrorKind::BadData, "repair or remove the file, or use --on-bad skip",
                     "{} is {}: {}", join_path(options.root, path),
                     skip_kind_name(outcome.skipped->kind), outcome.skipped->reason);
    }
    if (outcome.unsupported_format != ImageFormat::Unknown) {
      ++scan.unsupported_formats[std::string(format_name(outcome.unsupported_format))];
    }
    scan.skipped.push_back(std::move(*outcome.skipped));
    scan.skipped_labels.push_back(jobs[i].label);
  }
  return scan;
}

}  // namespace pounce
