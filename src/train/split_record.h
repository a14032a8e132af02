// Reads split.tsv of a run folder: which side of the split each image was on when the run was
// trained. RunFolder::write_split writes it.
#pragma once

#include <map>
#include <string>

#include "base/error.h"
#include "data/dataset.h"

namespace pounce {

// Path relative to the data set's root to Train, Val or Test. Error kind Io for a file that cannot
// be read, BadData for one that is damaged, with its line; nothing of such a file is used.
Result<std::map<std::string, Split>> read_split_record(const std::string& path);

}  // namespace pounce
