// Reads the headers of many files on several threads and sorts them into usable and skipped, in
// path order whatever the threads do. What an index knows of unchanged files is not read again.
// Internal to src/data.
#pragma once

#include <map>
#include <stop_token>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/scan_index.h"

namespace pounce {

struct HeaderScanOptions {
  std::string root;
  bool stop_at_first_bad = false;  // then throws BadData
  int threads = 0;
  ScanObserver progress{};
  std::stop_token stop{};
  int64_t now_ns = 0;  // what file_clock_ns() says when 0; files that are newer are not indexed
};

struct HeaderScan {
  SampleList samples;                                  // in path order
  std::vector<SkippedFile> skipped;                    // in path order
  std::vector<int32_t> skipped_labels;                 // of each
  std::map<std::string, int64_t> unsupported_formats;  // "WebP" to count
  int64_t linked_folders = 0;                          // links to folders, named like images
};

// `files`: in path order, without extents. Puts into `index` what has changed; commits nothing.
HeaderScan scan_headers(SampleList files, ScanIndex& index, const HeaderScanOptions& options);

// An error of reading or decoding as a row of skipped.tsv.
SkippedFile skipped_file(const std::string& path, const Error& error);

}  // namespace pounce
