// Reads the headers of many files on several threads and sorts them into usable and skipped, in
// path order whatever the threads do. Internal to src/data.
#pragma once

#include <map>
#include <stop_token>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/folder_form.h"

namespace pounce {

// A class and where it lies in the model's or data set's list.
struct LabelledFolder {
  const ClassFolder* folder = nullptr;
  int32_t label = 0;
};

struct HeaderScanOptions {
  std::string root;
  bool stop_at_first_bad = false;  // then throws BadData
  int threads = 0;
  std::stop_token stop{};
};

struct HeaderScan {
  SampleList samples;                                  // in path order
  std::vector<SkippedFile> skipped;                    // in path order
  std::vector<int32_t> skipped_labels;                 // the class folder of each
  std::map<std::string, int64_t> unsupported_formats;  // "WebP" to count
};

HeaderScan scan_headers(const std::vector<LabelledFolder>& folders,
                        const HeaderScanOptions& options);

// An error of reading or decoding as a row of skipped.tsv.
SkippedFile skipped_file(const std::string& path, const Error& error);

}  // namespace pounce
