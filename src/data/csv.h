// Tables as text: comma, semicolon or tab between fields, quotes around fields that hold those,
// LF, CRLF or CR between rows, a byte order mark in front. Internal to src/data.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pounce {

struct CsvRow {
  std::vector<std::string> fields;  // spaces around unquoted ones removed
  int64_t line = 0;                 // where it begins, from 1
};

// Rows in order, empty ones left out. The separator is the one the first line has most of. Throws
// Config for text that is not UTF-8 and for a quote that is never closed; the message begins with
// `name`.
std::vector<CsvRow> parse_csv(std::string_view text, const std::string& name);

}  // namespace pounce
