// What an ImageList is a handle of: the samples of one part, and where their images come from.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "api/access.h"
#include "data/dataset.h"
#include "data/loader.h"
#include "pounce/dataset.h"

namespace pounce {

struct ImageListState {
  std::string root;  // of files
  std::vector<std::string> classes;
  SampleList samples;
  std::shared_ptr<const ImageSource> source;  // null: files below root
};

// Reads from the source; null for files, which the loader reads itself.
ImageReader make_reader(const ImageListState& list);

SkippedFileInfo to_info(const SkippedFile& file);

}  // namespace pounce
