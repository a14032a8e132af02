#include "data/csv.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"

namespace pounce {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

bool is_line_end(char c) {
  return c == '\n' || c == '\r';
}

char separator_of(std::string_view text) {
  constexpr char kSeparators[] = {',', ';', '\t'};
  int counts[] = {0, 0, 0};
  bool is_quoted = false;
  for (char c : text) {
    if (c == '"') is_quoted = !is_quoted;
    if (is_quoted) continue;
    if (is_line_end(c)) break;
    for (size_t i = 0; i < 3; ++i) counts[i] += c == kSeparators[i];
  }
  return kSeparators[std::max_element(counts, counts + 3) - counts];
}

void refuse_other_encodings(std::string_view text, const std::string& name) {
  bool is_utf16 = text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF") ||
                  text.find('\0') != std::string_view::npos;
  if (!is_utf16) return;
  fail_with_hint(ErrorKind::Config, "save it as CSV in UTF-8",
                 "{} is not text in UTF-8 (it looks like UTF-16)", name);
}

class CsvReader {
 public:
  CsvReader(std::string_view text, const std::string& name)
      : text_(text), name_(name), separator_(separator_of(text)) {}

  std::vector<CsvRow> read() {
    std::vector<CsvRow> rows;
    while (at_ < text_.size()) {
      CsvRow row = read_row();
      bool is_empty = row.fields.size() == 1 && row.fields[0].empty();
      if (!is_empty) rows.push_back(std::move(row));
    }
    return rows;
  }

 private:
  CsvRow read_row() {
    CsvRow row{{}, line_};
    while (true) {
      row.fields.push_back(read_field());
      if (at_ == text_.size()) return row;
      char c = text_[at_++];
      if (c == separator_) continue;
      if (c == '\r' && at_ < text_.size() && text_[at_] == '\n') ++at_;
      ++line_;
      return row;
    }
  }

  std::string read_field() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    if (at_ < text_.size() && text_[at_] == '"') return read_quoted();
    size_t start = at_;
    while (at_ < text_.size() && text_[at_] != separator_ && !is_line_end(text_[at_])) ++at_;
    std::string_view field = text_.substr(start, at_ - start);
    while (field.ends_with(' ') || field.ends_with('\t')) field.remove_suffix(1);
    return std::string(field);
  }

  // Two quotes stand for one; what follows the closing one up to the separator is kept as it is.
  std::string read_quoted() {
    int64_t start = line_;
    std::string field;
    for (++at_; at_ < text_.size(); ++at_) {
      char c = text_[at_];
      if (c == '"') {
        if (at_ + 1 < text_.size() && text_[at_ + 1] == '"') {
          ++at_;
        } else {
          ++at_;
          return field + read_rest();
        }
      }
      line_ += c == '\n';
      field += c;
    }
    fail_with_hint(ErrorKind::Config, "close it, or write two quotes for one",
                   "{}:{}: a quote is never closed", name_, start);
  }

  std::string read_rest() {
    size_t start = at_;
    while (at_ < text_.size() && text_[at_] != separator_ && !is_line_end(text_[at_])) ++at_;
    std::string_view rest = text_.substr(start, at_ - start);
    while (rest.ends_with(' ')) rest.remove_suffix(1);
    return std::string(rest);
  }

  std::string_view text_;
  const std::string& name_;
  char separator_;
  size_t at_ = 0;
  int64_t line_ = 1;
};

}  // namespace

std::vector<CsvRow> parse_csv(std::string_view text, const std::string& name) {
  refuse_other_encodings(text, name);
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  return CsvReader(text, name).read();
}

}  // namespace pounce
