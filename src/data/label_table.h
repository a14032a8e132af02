// A table that says which class an image has: which of its columns name the file and the label, and
// its rows. Internal to src/data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace pounce {

struct LabelRow {
  std::string file;   // as written, with '/' between parts
  std::string label;  // NFC, not empty
  int64_t line = 0;
};

struct LabelTable {
  std::string path;
  std::string file_column, label_column;  // as the header writes them, or "1", "2"
  std::vector<std::string> columns;       // all of them
  std::vector<LabelRow> rows;             // those with a file and a label
};

// "FILE.csv" or "FILE.csv:file,label" as --labels takes it. A relative path is looked for where the
// process is, then in `folder`.
struct LabelTableName {
  std::string path;
  std::string file_column, label_column;  // empty: found by their names
  std::string prefix;  // in front of every file: "train/" for a split's own table
};
LabelTableName parse_table_name(const std::string& labels, const std::string& folder);

// Throws Config when the file is missing, has no rows, or its columns cannot be told: then the
// error lists them, and the hint is `command` with the flag to type.
LabelTable read_label_table(const LabelTableName& name, const std::string& command);

// Hugging Face's metadata.csv of `folder`, when it has a column file_name and one of labels.
std::optional<LabelTableName> find_metadata_table(const std::string& folder);

}  // namespace pounce
