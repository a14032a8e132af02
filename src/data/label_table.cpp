#include "data/label_table.h"

#include <algorithm>
#include <array>
#include <functional>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "data/csv.h"
#include "data/decode.h"

namespace pounce {
namespace {

constexpr std::array kFileWords = std::to_array<std::string_view>(
    {"file",   "files",    "filename", "file_name",  "filepath",  "file_path",  "image",
     "images", "image_id", "imageid",  "image_name", "imagename", "image_path", "image_file",
     "img",    "img_name", "img_path", "photo",      "picture",   "path",       "id"});
constexpr std::array kLabelWords = std::to_array<std::string_view>(
    {"label", "labels", "label_name", "class", "classes", "class_name", "classname", "class_label",
     "category", "category_name", "target", "breed", "species", "variety", "dx", "diagnosis", "y"});

// "File Name" and "file-name" are file_name.
std::string normal_form(std::string_view column) {
  std::string name = to_lower_ascii(column);
  for (char& c : name) {
    if (c == ' ' || c == '-' || c == '.') c = '_';
  }
  return name;
}

template <size_t N>
bool is_among(const std::array<std::string_view, N>& words, const std::string& column) {
  return std::find(words.begin(), words.end(), normal_form(column)) != words.end();
}

bool names_an_image(const std::string& field) {
  return is_image_extension(file_extension(field));
}

// Finds the two columns of one table.
class Columns {
 public:
  Columns(const LabelTableName& name, const CsvRow& first, const std::string& command)
      : name_(name), first_(first.fields), command_(command) {
    bool is_known = std::any_of(first_.begin(), first_.end(), [](const std::string& column) {
      return is_among(kFileWords, column) || is_among(kLabelWords, column);
    });
    bool is_by_number = parse_int(name.file_column) && parse_int(name.label_column);
    has_header_ =
        std::none_of(first_.begin(), first_.end(), names_an_image) && (is_known || !is_by_number);
    names_ = first_;
    if (!has_header_) {
      for (size_t i = 0; i < names_.size(); ++i) names_[i] = fmt::format("{}", i + 1);
    }
  }

  void find() {
    if (!name_.file_column.empty()) {
      file_ = given(name_.file_column);
      label_ = given(name_.label_column);
      return;
    }
    auto is_file = [&](size_t i) {
      return has_header_ ? is_among(kFileWords, names_[i]) : names_an_image(first_[i]);
    };
    auto is_label = [&](size_t i) { return has_header_ && is_among(kLabelWords, names_[i]); };
    std::vector<size_t> files = where(is_file), labels = where(is_label);
    // Of two columns, one known leaves the other.
    if (names_.size() == 2 && files.size() == 1 && labels.empty()) labels = {1 - files[0]};
    if (names_.size() == 2 && labels.size() == 1 && files.empty()) files = {1 - labels[0]};
    if (files.size() != 1) fail_ambiguous("names the file", files);
    if (labels.size() != 1) fail_ambiguous("has the label", labels);
    file_ = files[0];
    label_ = labels[0];
  }

  bool has_header() const { return has_header_; }
  size_t file() const { return file_; }
  size_t label() const { return label_; }
  const std::vector<std::string>& names() const { return names_; }

 private:
  std::vector<size_t> where(const std::function<bool(size_t)>& holds) const {
    std::vector<size_t> found;
    for (size_t i = 0; i < names_.size(); ++i) {
      if (holds(i)) found.push_back(i);
    }
    return found;
  }

  // By name, or by number from 1.
  size_t given(const std::string& column) const {
    auto found = std::find(names_.begin(), names_.end(), column);
    if (found != names_.end()) return size_t(found - names_.begin());
    std::optional<int64_t> number = parse_int(column);
    if (number && *number >= 1 && size_t(*number) <= names_.size()) return size_t(*number - 1);
    auto near = nearest(column, names_);
    std::string expected = near ? fmt::format(" (did you mean {}?)", *near) : "";
    fail_with_hint(ErrorKind::Config, to_type(), "{} has no column {}{}; its columns are: {}",
                   name_.path, column, expected, described());
  }

  [[noreturn]] void fail_ambiguous(const char* role, const std::vector<size_t>& found) const {
    std::vector<std::string> words;
    for (size_t i : found) words.push_back(names_[i]);
    std::string what = found.empty() ? "none is known to" : "several might: " + list_some(words, 6);
    fail_with_hint(ErrorKind::Config, to_type(),
                   "{}: which column {} cannot be told ({}); its columns are: {}", name_.path, role,
                   what, described());
  }

  // "file_name, breed, note"; "1 (cat.jpg), 2 (cat)" without a header.
  std::string described() const {
    std::vector<std::string> words = names_;
    for (size_t i = 0; i < words.size() && !has_header_; ++i) words[i] += " (" + first_[i] + ")";
    return list_some(words, 24);
  }

  std::string to_type() const {
    return fmt::format("name the two: {} --labels {}", command_,
                       shell_word(name_.path + (has_header_ ? ":FILE,LABEL" : ":1,2")));
  }

  const LabelTableName& name_;
  const std::vector<std::string>& first_;
  const std::string& command_;
  bool has_header_ = true;
  std::vector<std::string> names_;
  size_t file_ = 0, label_ = 0;
};

std::string read_text(const std::string& path) {
  Result<std::vector<uint8_t>> bytes = read_file(path);
  if (!bytes) throw bytes.error();
  return {bytes->begin(), bytes->end()};
}

// Windows writes backslashes; "./a.jpg" is a.jpg.
std::string plain_path(std::string path) {
  std::replace(path.begin(), path.end(), '\\', '/');
  while (path.starts_with("./")) path.erase(0, 2);
  return path;
}

}  // namespace

LabelTableName parse_table_name(const std::string& labels, const std::string& folder) {
  auto find = [&](const std::string& path) {
    std::string inside = join_path(folder, path);
    return !is_regular_file(path) && is_regular_file(inside) ? inside : path;
  };
  size_t colon = labels.rfind(':');
  size_t comma = labels.find(',', colon == std::string::npos ? 0 : colon);
  bool names_columns = colon != std::string::npos && colon > 0 && comma != std::string::npos;
  if (is_regular_file(find(labels)) || !names_columns) return {find(labels), "", "", ""};
  return {find(labels.substr(0, colon)), labels.substr(colon + 1, comma - colon - 1),
          labels.substr(comma + 1), ""};
}

LabelTable read_label_table(const LabelTableName& name, const std::string& command) {
  if (!is_regular_file(name.path)) {
    fail_with_hint(ErrorKind::Config,
                   fmt::format("give a table with a column of files and one of labels, or names: "
                               "{} --labels names",
                               command),
                   "--labels {}: {}; a CSV file was expected", name.path,
                   is_directory(name.path) ? "a folder" : "there is no such file");
  }
  std::vector<CsvRow> rows = parse_csv(read_text(name.path), name.path);
  if (rows.empty()) {
    fail_with_hint(ErrorKind::Config, "write a row per image: file,label", "{} is empty",
                   name.path);
  }
  Columns columns(name, rows[0], command);
  columns.find();
  LabelTable table{name.path,
                   columns.names()[columns.file()],
                   columns.names()[columns.label()],
                   columns.names(),
                   {}};
  for (size_t i = columns.has_header() ? 1 : 0; i < rows.size(); ++i) {
    const std::vector<std::string>& fields = rows[i].fields;
    if (std::max(columns.file(), columns.label()) >= fields.size()) continue;
    LabelRow row{plain_path(fields[columns.file()]), to_nfc(fields[columns.label()]), rows[i].line};
    if (row.file.empty() || row.label.empty()) continue;
    row.file = name.prefix + row.file;
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::optional<LabelTableName> find_metadata_table(const std::string& folder) {
  std::string path = join_path(folder, "metadata.csv");
  if (!is_regular_file(path)) return std::nullopt;
  std::vector<CsvRow> rows = parse_csv(read_text(path), path);
  if (rows.empty()) return std::nullopt;
  const std::vector<std::string>& columns = rows[0].fields;
  constexpr const char* kFileColumn = "file_name";
  auto is_label = [](const std::string& column) { return is_among(kLabelWords, column); };
  auto label = std::find_if(columns.begin(), columns.end(), is_label);
  bool has_both = std::find(columns.begin(), columns.end(), kFileColumn) != columns.end() &&
                  std::count_if(columns.begin(), columns.end(), is_label) == 1;
  if (!has_both) return std::nullopt;
  return LabelTableName{path, kFileColumn, *label, ""};
}

}  // namespace pounce
