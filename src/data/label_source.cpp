#include "data/label_source.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"

namespace pounce {
namespace {

constexpr size_t kExamples = 3;
// From this share on a mismatch is likely to be a mistake.
constexpr double kLargeMismatch = 0.10;

// The first few of many, and how many there are.
struct Examples {
  int64_t count = 0;
  std::vector<std::string> first;

  void add(std::string text) {
    if (first.size() < kExamples) first.push_back(std::move(text));
    ++count;
  }
  // "a.jpg, b.jpg, c.jpg and 4 more"
  std::string text() const {
    std::string list = fmt::format("{}", fmt::join(first, ", "));
    int64_t more = count - int64_t(first.size());
    return more > 0 ? fmt::format("{} and {} more", list, group_digits(more)) : list;
  }
};

void report(LabelFindings& findings, std::string sentence, int64_t part, int64_t whole) {
  bool is_large = double(part) > kLargeMismatch * double(whole);
  (is_large ? findings.warnings : findings.notes).push_back(std::move(sentence));
}

class NameLabels : public LabelSource {
 public:
  explicit NameLabels(std::string command) : command_(std::move(command)) {}

  std::optional<std::string> label_of(const std::string& path) override {
    std::string label = to_nfc(class_suggested_by(path));
    ++images_;
    if (!label.empty()) return label;
    without_.add(path);
    return std::nullopt;
  }

  std::string reason_without_label() const override { return "no class in the file name"; }
  bool is_own_file(const std::string&) const override { return false; }

  LabelFindings finish(const std::string& folder, bool) override {
    LabelFindings findings;
    if (without_.count == 0) return findings;
    if (without_.count == images_) {
      fail_with_hint(ErrorKind::Config,
                     fmt::format("name them like cat.0.jpg or cat_1.jpg, or give a table: {} "
                                 "--labels FILE.csv",
                                 command_),
                     "no file name of {} begins with a class: {}", folder, without_.text());
    }
    report(findings,
           fmt::format("images whose name begins with no class, left out: {} of {} ({})",
                       group_digits(without_.count), group_digits(images_), without_.text()),
           without_.count, images_);
    return findings;
  }

 private:
  std::string command_;
  int64_t images_ = 0;
  Examples without_;
};

// From the end, how many parts two paths share; 0 unless one path is the end of the other.
int common_parts(std::string_view a, std::string_view b) {
  int parts = 0;
  while (!a.empty() && !b.empty()) {
    size_t a_cut = a.rfind('/'), b_cut = b.rfind('/');
    if (a.substr(a_cut + 1) != b.substr(b_cut + 1)) return 0;
    ++parts;
    a = a.substr(0, a_cut == a.npos ? 0 : a_cut);
    b = b.substr(0, b_cut == b.npos ? 0 : b_cut);
  }
  return parts;
}

std::string without_extension(const std::string& path) {
  size_t dot = path.rfind('.');
  return path.substr(0, dot);
}

class TableLabels : public LabelSource {
 public:
  TableLabels(const std::vector<LabelTableName>& names, std::string command)
      : command_(std::move(command)) {
    for (const LabelTableName& name : names) tables_.push_back(read_label_table(name, command_));
    collect_rows();
    for (size_t i = 0; i < rows_.size(); ++i) {
      by_name_[std::string(base_name(rows_[i].file))].push_back(i);
    }
  }

  std::optional<std::string> label_of(const std::string& path) override {
    ++images_;
    std::string file = to_nfc(path);
    Row* best = find_row(file);
    if (!best) best = find_row(without_extension(file));
    if (!best) {
      without_row_.add(path);
      return std::nullopt;
    }
    if (best->uses++ == 0) {
      best->first_image = path;
    } else {
      ambiguous_.add(
          fmt::format("{} in line {}: {} and {}", best->file, best->line, best->first_image, path));
    }
    return best->label;
  }

  std::string reason_without_label() const override { return "no label in " + table_names(); }

  bool is_own_file(const std::string& path) const override {
    return std::any_of(tables_.begin(), tables_.end(), [&](const LabelTable& table) {
      return base_name(table.path) == base_name(path) &&
             canonical_path(table.path) == canonical_path(path);
    });
  }

  LabelFindings finish(const std::string& folder, bool saw_all) override {
    if (without_row_.count == images_) fail_none_matched(folder);
    if (ambiguous_.count > 0) {
      fail_with_hint(ErrorKind::Config,
                     "write paths below the folder into that column, or name the folder that the "
                     "table is about",
                     "rows of {} that fit several images: {} ({})", table_names(),
                     group_digits(ambiguous_.count), ambiguous_.text());
    }
    LabelFindings findings;
    if (without_row_.count > 0) {
      report(
          findings,
          fmt::format("images without a label in {}, left out: {} of {} ({})", table_names(),
                      group_digits(without_row_.count), group_digits(images_), without_row_.text()),
          without_row_.count, images_);
    }
    if (saw_all) report_unused_rows(folder, findings);
    return findings;
  }

 private:
  struct Row {
    std::string file, label;
    int64_t line = 0;
    std::string first_image;
    int64_t uses = 0;
  };

  // The row whose path shares most parts with that of the image.
  Row* find_row(const std::string& file) {
    auto found = by_name_.find(std::string(base_name(file)));
    if (found == by_name_.end()) return nullptr;
    Row* best = nullptr;
    int most = 0;
    for (size_t i : found->second) {
      int parts = common_parts(file, rows_[i].file);
      if (parts > most) {
        most = parts;
        best = &rows_[i];
      }
    }
    return best;
  }

  // A row that says once more what an earlier one says counts once.
  void collect_rows() {
    std::unordered_map<std::string, size_t> first;
    Examples contradictions;
    for (const LabelTable& table : tables_) {
      for (const LabelRow& row : table.rows) {
        std::string file = to_nfc(row.file);
        auto [found, is_new] = first.emplace(file, rows_.size());
        if (is_new) {
          rows_.push_back({file, row.label, row.line, {}, 0});
        } else if (const Row& earlier = rows_[found->second]; earlier.label != row.label) {
          contradictions.add(fmt::format("{}: {} in line {}, {} in line {}", file, earlier.label,
                                         earlier.line, row.label, row.line));
        }
      }
    }
    if (contradictions.count == 0) return;
    fail_with_hint(ErrorKind::Config, "keep one label for each file, then: " + command_,
                   "rows of {} that give a file another label than an earlier row: {} ({})",
                   table_names(), group_digits(contradictions.count), contradictions.text());
  }

  [[noreturn]] void fail_none_matched(const std::string& folder) const {
    Examples files;
    for (const Row& row : rows_) files.add(row.file);
    const LabelTable& table = tables_.front();
    fail_with_hint(
        ErrorKind::Config,
        fmt::format("is it the table of this folder? Where another column names the "
                    "files ({}): {} --labels {}",
                    list_some(table.columns, 12), command_, shell_word(table.path + ":FILE,LABEL")),
        "no image of {} ({}) has a row in {}, whose column {} has {}", folder, without_row_.text(),
        table_names(), table.file_column, files.count > 0 ? files.text() : "no files");
  }

  void report_unused_rows(const std::string& folder, LabelFindings& findings) const {
    Examples unused;
    for (const Row& row : rows_) {
      if (row.uses == 0) unused.add(fmt::format("{} in line {}", row.file, row.line));
    }
    if (unused.count == 0) return;
    report(
        findings,
        fmt::format("rows of {} without an image in {}: {} of {} ({})", table_names(), folder,
                    group_digits(unused.count), group_digits(int64_t(rows_.size())), unused.text()),
        unused.count, int64_t(rows_.size()));
  }

  std::string table_names() const {
    std::vector<std::string> names;
    for (const LabelTable& table : tables_) names.push_back(table.path);
    return list_some(names, 3);
  }

  std::string command_;
  std::vector<LabelTable> tables_;
  std::vector<Row> rows_;
  std::unordered_map<std::string, std::vector<size_t>> by_name_;  // last part of Row::file
  int64_t images_ = 0;
  Examples without_row_, ambiguous_;
};

}  // namespace

std::unique_ptr<LabelSource> labels_from_names(std::string command) {
  return std::make_unique<NameLabels>(std::move(command));
}

std::unique_ptr<LabelSource> labels_from_tables(const std::vector<LabelTableName>& names,
                                                std::string command) {
  return std::make_unique<TableLabels>(names, std::move(command));
}

std::string class_suggested_by(std::string_view path) {
  std::string_view name = base_name(path);
  name = name.substr(0, name.rfind('.'));
  size_t end = name.find_last_not_of("0123456789 ._-()#");
  return end == std::string_view::npos ? "" : std::string(name.substr(0, end + 1));
}

}  // namespace pounce
