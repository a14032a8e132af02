// Tables for people, whose columns line up by what a terminal shows: East-Asian characters are two
// columns wide.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace pounce::cli {

using Row = std::vector<std::string>;

// A line for each row, each after a line feed; rows must be equally long, and one at least. The
// first `left_columns` are flush left, the others flush right. Cells are made printable().
std::string table(std::vector<Row> rows, size_t left_columns);

}  // namespace pounce::cli
