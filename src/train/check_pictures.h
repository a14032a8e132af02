// Reads and decodes every image of a scan: which are damaged, which are the same.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "data/dataset.h"
#include "data/picture_print.h"
#include "pounce/check.h"
#include "train/check_scan.h"

namespace pounce {

// An image of a scan, usable by its header.
struct CheckedPicture {
  uint8_t split = 0;     // into CheckScan::images
  uint32_t index = 0;    // into that list
  uint64_t content = 0;  // xxh3 of the file
  uint64_t bytes = 0;
  PicturePrint print;
};

struct PictureFindings {
  std::vector<CheckedPicture> pictures;                     // that decode, split by split, by path
  std::vector<SkippedFile> skipped;                         // that do not, by path
  std::vector<std::pair<uint8_t, int32_t>> skipped_labels;  // split and label of each
};

PictureFindings read_pictures(const CheckScan& scan, int workers, const CheckObserver& observer,
                              const std::stop_token& stop);

// By the path of the first file.
std::vector<DuplicateGroup> find_duplicates(const CheckScan& scan,
                                            std::span<const CheckedPicture> pictures);
// Between splits, copies of the same bytes left out: for a picture of a later split the first of an
// earlier one that it is like. By the path of the first.
std::vector<NearDuplicate> find_near_duplicates(const CheckScan& scan,
                                                std::span<const CheckedPicture> pictures);

}  // namespace pounce
