#include "train/split_record.h"

#include <optional>
#include <string_view>

#include "base/file.h"

namespace pounce {
namespace {

constexpr std::string_view kHeader = "path\tsplit\tclass";

std::optional<Split> split_named(std::string_view name) {
  if (name == "train") return Split::Train;
  if (name == "val") return Split::Val;
  if (name == "test") return Split::Test;
  return std::nullopt;
}

// What tsv_field of run_folder.cpp made of it; nullopt for an escape it never writes.
std::optional<std::string> unescape(std::string_view field) {
  std::string text;
  for (size_t i = 0; i < field.size(); ++i) {
    if (field[i] != '\\') {
      text += field[i];
      continue;
    }
    constexpr std::string_view kLetters = "tnr\\", kCharacters = "\t\n\r\\";
    size_t found = ++i < field.size() ? kLetters.find(field[i]) : kLetters.npos;
    if (found == kLetters.npos) return std::nullopt;
    text += kCharacters[found];
  }
  return text;
}

// Whether `line` is a row of an image that `sides` does not hold yet; then adds it.
bool add_row(std::string_view line, std::map<std::string, Split>& sides) {
  size_t first = line.find('\t');
  if (first == line.npos) return false;
  size_t second = line.find('\t', first + 1);
  if (second == line.npos || line.find('\t', second + 1) != line.npos) return false;
  std::optional<std::string> path = unescape(line.substr(0, first));
  std::optional<Split> split = split_named(line.substr(first + 1, second - first - 1));
  return path && split && sides.emplace(*std::move(path), *split).second;
}

}  // namespace

Result<std::map<std::string, Split>> read_split_record(const std::string& path) {
  Result<std::vector<uint8_t>> bytes = read_file(path);
  if (!bytes) return tl::make_unexpected(bytes.error());
  std::string_view text(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  std::map<std::string, Split> sides;
  for (int64_t line = 1; line == 1 || !text.empty(); ++line) {
    size_t end = text.find('\n');
    std::string_view row = text.substr(0, end);
    bool is_good = end != text.npos && (line == 1 ? row == kHeader : add_row(row, sides));
    if (!is_good) {
      return tl::make_unexpected(
          Error(ErrorKind::BadData, fmt::format("{} is damaged in line {}", path, line)));
    }
    text.remove_prefix(end + 1);
  }
  return sides;
}

}  // namespace pounce
