// Text for people: display width of UTF-8, padding, figures with units, the nearest word.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace pounce {

// Columns on a terminal: East-Asian wide and emoji 2, combining marks and controls 0, else 1.
// A byte that is not UTF-8 counts as one column.
int display_width(std::string_view text);
int code_point_width(char32_t code_point);

// Decodes the code point at `text[at]` and moves `at` behind it; U+FFFD (one byte) for bad bytes.
char32_t next_code_point(std::string_view text, size_t& at);

// Unicode normalisation form C: one spelling for names that look alike (macOS writes another one).
// Text that is not UTF-8 is returned unchanged.
std::string to_nfc(std::string_view text);
// What is not ASCII as code points, the way C and bash write them, so that names which look alike
// differ: "cafe\u0301".
std::string spell_out(std::string_view text);

// Filled with spaces to `width` columns; wider text is returned unchanged.
std::string pad_right(std::string_view text, int width);
std::string pad_left(std::string_view text, int width);
// At most `width` columns, the end replaced by "…" when something is cut.
std::string truncate_to_width(std::string_view text, int width);

std::string group_digits(int64_t value);     // "1,997"
std::string human_bytes(int64_t bytes);      // "1.3 GB", "812 KB" (powers of 1024)
std::string human_duration(double seconds);  // "8 s", "23 min", "1 h 05 min"
std::string count_of(int64_t n, std::string_view singular, std::string_view plural);  // "1 image"
// "a, b, c and 4 more": a list with at most `shown` named.
std::string list_some(std::span<const std::string> items, size_t shown);

// Insertions, deletions, substitutions and swaps of neighbours, over bytes.
int edit_distance(std::string_view a, std::string_view b);
// The candidate with the least distance, when that is at most a third of the word (at least 1).
std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates);

// The whole text must be the number: no spaces, no rest; nullopt otherwise or out of range.
std::optional<int64_t> parse_int(std::string_view text);
std::optional<uint64_t> parse_uint(std::string_view text);
// Finite values only.
std::optional<double> parse_double(std::string_view text);

std::string to_lower_ascii(std::string_view text);
// As a shell takes it for one word: in single quotes where that is needed.
std::string shell_word(std::string_view text);

// Text from elsewhere (names in files, words of the command line) for a terminal or a line of a
// table: characters that steer a terminal, end a line or turn the direction of writing stand as
// \n, \x1b, \u202e, and bytes that are not UTF-8 as \xff.
std::string printable(std::string_view text);

}  // namespace pounce
