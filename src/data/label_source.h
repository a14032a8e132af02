// Where the classes of images come from when no folders name them: the names of the files, or a
// table. Asked once for every image; then it says what did not fit. Internal to src/data.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/label_table.h"

namespace pounce {

// What a label source found out; whole sentences for the reader.
struct LabelFindings {
  std::vector<std::string> notes, warnings;
};

class LabelSource {
 public:
  virtual ~LabelSource() = default;

  // The class of an image, in NFC; nullopt when there is none. `path`: relative to the data folder.
  virtual std::optional<std::string> label_of(const std::string& path) = 0;
  // Why an image is left out; a key of ImageFolder::ignored.
  virtual std::string reason_without_label() const = 0;
  // Whether the file at `path` is a table of this source.
  virtual bool is_own_file(const std::string& path) const = 0;
  // After the last image of `folder`. Throws Config when no image has a label, and when a row of a
  // table fits several images. `saw_all`: rows without an image are worth a word.
  virtual LabelFindings finish(const std::string& folder, bool saw_all) = 0;
};

// `command`: what the reader types to get here, such as "pounce train photos"; for hints.
std::unique_ptr<LabelSource> labels_from_names(std::string command);
// Throws Config for tables that cannot be read, and for rows that give one file two labels.
std::unique_ptr<LabelSource> labels_from_tables(const std::vector<LabelTableName>& names,
                                                std::string command);

// "cat" of "cat.0.jpg", "Abyssinian" of "Abyssinian_1.jpg", "" of "1.jpg". `path` may have folders.
std::string class_suggested_by(std::string_view path);

}  // namespace pounce
