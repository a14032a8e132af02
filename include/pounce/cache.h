// The cache folder: indices of scanned folders and cached images, which Pounce can make again at
// any time. Nothing that Pounce did not write there is listed or removed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pounce/error.h"

namespace pounce {

struct CacheFileInfo {
  std::string path;
  std::string kind;         // "index", "images"; empty for a damaged file
  std::string data;         // folder of the data set; empty for a damaged file
  int64_t bytes = 0;        // on the disk
  double idle_seconds = 0;  // since a run last used it
};

struct CacheReport {
  std::string folder;  // where the cache lies or would lie; empty where no variable names one
  std::vector<CacheFileInfo> files;
  int64_t bytes = 0;
  int64_t images_limit = 0;  // what all cached images may take without --cache-limit
};

struct CacheSelection {
  std::string data;            // of this data folder, or of one below it; empty: of all
  double older_than_days = 0;  // idle for longer
};

POUNCE_API CacheReport list_cache(const CacheSelection& selection = {});
// Removes the files; returns those that were removed. Processes that use one may go on; its room is
// given back when they end. Throws Io.
POUNCE_API CacheReport clear_cache(const CacheSelection& selection = {});

}  // namespace pounce
