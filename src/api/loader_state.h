// What a Loader is a handle of.
#pragma once

#include <optional>

#include "api/image_list.h"
#include "pounce/loader.h"

namespace pounce {

struct LoaderState {
  LoaderState(ImageList list, const LoaderOptions& given);

  // Epochs are numbered from 0. Iterators of another epoch are invalid from here on.
  void start_epoch(uint32_t number);
  // Null at the end. Throws InvalidArgument where `of_stamp` is not the epoch in progress.
  std::shared_ptr<const Batch> next(uint64_t of_stamp);

  ImageList images;
  LoaderOptions options;
  BatchLoader loader;
  uint32_t next_epoch = 0;  // of begin()
  uint64_t stamp = 0;       // counts epochs begun, by whomever
};

}  // namespace pounce
