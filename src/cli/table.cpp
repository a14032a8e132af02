#include "cli/table.h"

#include <algorithm>

#include "base/text.h"

namespace pounce::cli {

std::string table(std::vector<Row> rows, size_t left_columns) {
  for (Row& row : rows) {
    for (std::string& cell : row) cell = printable(cell);
  }
  std::vector<int> widths(rows[0].size(), 0);
  for (const Row& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], display_width(row[i]));
  }
  std::string text;
  for (const Row& row : rows) {
    text += '\n';
    for (size_t i = 0; i < row.size(); ++i) {
      if (i > 0) text += "  ";
      bool is_last = i + 1 == row.size();
      std::string left = is_last ? row[i] : pad_right(row[i], widths[i]);
      text += i < left_columns ? left : pad_left(row[i], widths[i]);
    }
  }
  return text;
}

}  // namespace pounce::cli
