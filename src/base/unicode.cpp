// What Unicode says about names that look alike, by utf8proc.
#include <cstdlib>
#include <memory>

#include <fmt/format.h>
#include <utf8proc.h>

#include "base/text.h"

namespace pounce {
namespace {

bool is_ascii(std::string_view text) {
  for (char c : text) {
    if (static_cast<unsigned char>(c) >= 0x80) return false;
  }
  return true;
}

}  // namespace

std::string to_nfc(std::string_view text) {
  if (is_ascii(text)) return std::string(text);
  utf8proc_uint8_t* composed = nullptr;
  auto options = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE);
  utf8proc_ssize_t size =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                   static_cast<utf8proc_ssize_t>(text.size()), &composed, options);
  std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(composed, &std::free);
  if (size < 0) return std::string(text);
  return {reinterpret_cast<const char*>(composed), size_t(size)};
}

std::string spell_out(std::string_view text) {
  std::string spelled;
  for (size_t at = 0; at < text.size();) {
    size_t start = at;
    char32_t code_point = next_code_point(text, at);
    if (code_point < 0x80) {
      spelled += text.substr(start, at - start);
    } else {
      bool is_short = code_point <= 0xFFFF;
      spelled += is_short ? fmt::format("\\u{:04X}", uint32_t(code_point))
                          : fmt::format("\\U{:08X}", uint32_t(code_point));
    }
  }
  return spelled;
}

}  // namespace pounce
