#include "base/text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace pounce {
namespace {

constexpr char32_t kReplacement = 0xFFFD;

// Length of the UTF-8 sequence a byte opens; 0 when it opens none.
int sequence_length(uint8_t byte) {
  if (byte < 0x80) return 1;
  if (byte >= 0xC2 && byte < 0xE0) return 2;
  if (byte >= 0xE0 && byte < 0xF0) return 3;
  if (byte >= 0xF0 && byte < 0xF5) return 4;
  return 0;
}

bool is_overlong_or_surrogate(char32_t value, int length) {
  constexpr char32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  return value < kLeast[length] || value > 0x10FFFF || (value >= 0xD800 && value < 0xE000);
}

template <typename T>
std::optional<T> parse_number(std::string_view text) {
  T value{};
  const char* end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || text.empty()) return std::nullopt;
  return value;
}

// C0, DEL and C1; separators of lines; embeddings, overrides and isolates of the direction.
bool steers_terminal(char32_t c) {
  return c < 0x20 || (c >= 0x7F && c <= 0x9F) || c == 0x2028 || c == 0x2029 ||
         (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
}

std::string escape(char32_t c) {
  if (c == '\n') return "\\n";
  if (c == '\r') return "\\r";
  if (c == '\t') return "\\t";
  return c < 0x80 ? fmt::format("\\x{:02x}", uint32_t(c)) : fmt::format("\\u{:04x}", uint32_t(c));
}

std::string spaces(int n) {
  return std::string(size_t(std::max(0, n)), ' ');
}

}  // namespace

char32_t next_code_point(std::string_view text, size_t& at) {
  uint8_t lead = uint8_t(text[at]);
  int length = sequence_length(lead);
  if (length == 1) return ++at, char32_t(lead);
  if (length == 0 || at + size_t(length) > text.size()) return ++at, kReplacement;
  char32_t value = lead & (0x7FU >> length);
  for (int i = 1; i < length; ++i) {
    uint8_t byte = uint8_t(text[at + size_t(i)]);
    if ((byte & 0xC0) != 0x80) return ++at, kReplacement;
    value = value << 6 | (byte & 0x3F);
  }
  if (is_overlong_or_surrogate(value, length)) return ++at, kReplacement;
  at += size_t(length);
  return value;
}

int display_width(std::string_view text) {
  int width = 0;
  for (size_t at = 0; at < text.size();) width += code_point_width(next_code_point(text, at));
  return width;
}

std::string pad_right(std::string_view text, int width) {
  return std::string(text) + spaces(width - display_width(text));
}

std::string pad_left(std::string_view text, int width) {
  return spaces(width - display_width(text)).append(text);
}

std::string truncate_to_width(std::string_view text, int width) {
  if (display_width(text) <= width) return std::string(text);
  if (width <= 0) return "";
  size_t end = 0;
  int used = 0;
  for (size_t at = 0; at < text.size(); end = at) {
    used += code_point_width(next_code_point(text, at));
    if (used > width - 1) break;
  }
  return std::string(text.substr(0, end)) + "…";
}

std::string group_digits(int64_t value) {
  std::string digits = fmt::format("{}", value);
  size_t first = value < 0 ? 1 : 0;
  for (size_t at = digits.size(); at > first + 3;) {
    at -= 3;
    digits.insert(at, 1, ',');
  }
  return digits;
}

std::string human_bytes(int64_t bytes) {
  constexpr const char* kUnits[] = {"B", "KB", "MB", "GB", "TB", "PB", "EB"};
  double value = double(bytes);
  size_t unit = 0;
  // 1023.96 would round to "1024.0".
  while (std::abs(value) >= (unit == 0 ? 1024 : 999.5) && unit + 1 < std::size(kUnits)) {
    value /= 1024;
    ++unit;
  }
  bool is_short = unit > 0 && std::abs(value) < 9.95;
  return fmt::format("{:.{}f} {}", value, is_short ? 1 : 0, kUnits[unit]);
}

std::string human_duration(double seconds) {
  if (seconds < 0.95) return fmt::format("{:.1f} s", std::max(0.0, seconds));
  if (seconds < 59.5) return fmt::format("{:.0f} s", seconds);
  int64_t minutes = int64_t(std::llround(seconds / 60));
  if (minutes < 60) return fmt::format("{} min", minutes);
  if (minutes < 48 * 60) return fmt::format("{} h {:02} min", minutes / 60, minutes % 60);
  return fmt::format("{} d {} h", minutes / (24 * 60), minutes / 60 % 24);
}

std::string count_of(int64_t n, std::string_view singular, std::string_view plural) {
  return fmt::format("{} {}", group_digits(n), n == 1 ? singular : plural);
}

std::string list_some(std::span<const std::string> items, size_t shown) {
  std::string text;
  size_t n = std::min(items.size(), shown);
  for (size_t i = 0; i < n; ++i) text += (i ? ", " : "") + items[i];
  if (items.size() > n) text += fmt::format(" and {} more", items.size() - n);
  return text;
}

int edit_distance(std::string_view a, std::string_view b) {
  // Optimal string alignment: rows of the usual table, the last three kept.
  std::vector<int> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) above[j] = int(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = int(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      int change = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({change, above[j] + 1, row[j - 1] + 1});
      bool is_swap = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (is_swap) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, above);
    std::swap(above, row);
  }
  return above[b.size()];
}

std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates) {
  int limit = std::max(1, int(word.size()) / 3);
  std::optional<std::string> best;
  for (const std::string& candidate : candidates) {
    int distance = edit_distance(word, candidate);
    if (distance > limit || (best && distance == limit)) continue;
    limit = distance;
    best = candidate;
  }
  return best;
}

std::optional<int64_t> parse_int(std::string_view text) {
  return parse_number<int64_t>(text);
}

std::optional<uint64_t> parse_uint(std::string_view text) {
  return parse_number<uint64_t>(text);
}

std::optional<double> parse_double(std::string_view text) {
  std::optional<double> value = parse_number<double>(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

std::string shell_word(std::string_view text) {
  constexpr std::string_view kSafe = "_./,+@%:=-~";
  auto is_safe = [&](char c) {
    bool is_word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    return is_word || static_cast<unsigned char>(c) >= 0x80 || kSafe.find(c) != kSafe.npos;
  };
  if (!text.empty() && text[0] != '~' && std::all_of(text.begin(), text.end(), is_safe)) {
    return std::string(text);
  }
  std::string word = "'";
  for (char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

std::string to_lower_ascii(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = char(c - 'A' + 'a');
  }
  return lower;
}

std::string printable(std::string_view text) {
  std::string result;
  for (size_t at = 0; at < text.size();) {
    size_t begin = at;
    char32_t c = next_code_point(text, at);
    bool is_bad_byte = c == kReplacement && at - begin == 1;
    if (is_bad_byte) {
      result += fmt::format("\\x{:02x}", uint8_t(text[begin]));
    } else if (steers_terminal(c)) {
      result += escape(c);
    } else {
      result += text.substr(begin, at - begin);
    }
  }
  return result;
}

}  // namespace pounce
