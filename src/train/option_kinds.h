// The kinds of options the table of training options is made of: words, numbers, switches. Each
// turns text into a member of TrainConfig and that into TOML. Internal to src/train.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "pounce/options.h"

namespace pounce::option_kinds {

// The words of an option; what the value means is added by the functions below.
struct OptionText {
  std::string_view name;
  char short_name = 0;
  OptionGroup group = OptionGroup::Run;
  std::string_view value_name = {};
  std::string_view default_text = {};
  std::string_view help = {};
  std::string_view details = {};
};

[[noreturn]] inline void refuse(std::string_view option, const std::string& given,
                                const std::string& expected, std::string hint = "") {
  fail_with_hint(ErrorKind::Config, std::move(hint), "--{} {}: expected {}", option,
                 given.empty() ? "(empty)" : given, expected);
}

// ---- Values as text. Every text is valid TOML and valid JSON. ----

inline std::string value_text(int value) {
  return fmt::format("{}", value);
}

inline std::string value_text(double value) {
  std::string text = fmt::format("{}", value);  // the fewest digits that read back equal
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

inline std::string value_text(bool value) {
  return value ? "true" : "false";
}

inline std::string value_text(uint64_t value) {
  // TOML integers are signed 64-bit.
  bool fits = value <= uint64_t(std::numeric_limits<int64_t>::max());
  return fits ? fmt::format("{}", value) : fmt::format("\"{}\"", value);
}

inline std::string value_text(std::string_view value) {
  std::string text = "\"";
  for (size_t at = 0; at < value.size();) {
    size_t start = at;
    char32_t code_point = next_code_point(value, at);
    if (code_point == '"' || code_point == '\\') {
      text += '\\';
      text += char(code_point);
    } else if (code_point < 0x20 || code_point == 0x7F || code_point == 0xFFFD) {
      text += fmt::format("\\u{:04X}", uint32_t(code_point));
    } else {
      text += value.substr(start, at - start);
    }
  }
  return text + '"';
}

inline std::string value_text(const std::string& value) {
  return value.empty() ? "" : value_text(std::string_view(value));
}

template <typename T>
std::string value_text(const std::optional<T>& value) {
  return value ? value_text(*value) : "";
}

// ---- Kinds of options ----

inline TrainOption make_option(const OptionText& text) {
  return {.name = text.name,
          .short_name = text.short_name,
          .group = text.group,
          .value_name = text.value_name,
          .default_text = text.default_text,
          .help = text.help,
          .details = text.details,
          .choices = {},
          .is_preset = false,
          .set = {},
          .get = {},
          .check = {}};
}

// Throws what `set` says of a value that a program wrote into the configuration by itself.
template <typename T>
void check_again(const TrainConfig& config, const T& value,
                 const std::function<void(TrainConfig&, const std::string&)>& set) {
  std::string text = value_text(value);
  if (text.empty()) return;  // unset
  TrainConfig scratch = config;
  set(scratch, text);
}

template <typename T>
TrainOption whole_number(const OptionText& text, T TrainConfig::*member, int64_t most,
                         int64_t least = 1) {
  TrainOption option = make_option(text);
  option.set = [name = text.name, member, most, least](TrainConfig& config,
                                                       const std::string& given) {
    std::optional<int64_t> value = parse_int(given);
    if (!value || *value < least || *value > most) {
      refuse(name, given, fmt::format("a whole number from {} to {}", least, most));
    }
    config.*member = int(*value);
  };
  option.get = [member](const TrainConfig& config) { return value_text(config.*member); };
  option.check = [member, set = option.set](const TrainConfig& config) {
    check_again(config, config.*member, set);
  };
  return option;
}

struct Range {
  double least = 0, most = 1;
  bool above_least = false, below_most = false;  // the bound itself is not allowed

  bool holds(double value) const {
    return (above_least ? value > least : value >= least) &&
           (below_most ? value < most : value <= most);
  }
  std::string words() const {
    if (above_least) return fmt::format("a number above {}, at most {}", least, most);
    return fmt::format("a number from {} {} {}", least, below_most ? "to below" : "to", most);
  }
};

inline double parse_in_range(std::string_view option, const std::string& given,
                             std::string_view part, const Range& range) {
  std::optional<double> value = parse_double(part);
  if (!value || !range.holds(*value)) refuse(option, given, range.words());
  return *value;
}

template <typename T>
TrainOption number(const OptionText& text, T TrainConfig::*member, Range range) {
  TrainOption option = make_option(text);
  option.set = [name = text.name, member, range](TrainConfig& config, const std::string& given) {
    config.*member = parse_in_range(name, given, given, range);
  };
  option.get = [member](const TrainConfig& config) { return value_text(config.*member); };
  option.check = [member, set = option.set](const TrainConfig& config) {
    check_again(config, config.*member, set);
  };
  return option;
}

template <typename T>
using Words = std::vector<std::pair<std::string_view, T>>;

// One of some words; `member` receives what stands beside the word.
template <typename T, typename Member>
TrainOption one_of(const OptionText& text, Member TrainConfig::*member, Words<T> words) {
  TrainOption option = make_option(text);
  for (const auto& [word, value] : words) option.choices.push_back(word);
  option.set = [name = text.name, member, words](TrainConfig& config, const std::string& given) {
    std::vector<std::string> allowed;
    for (const auto& [word, value] : words) {
      if (word == given) {
        config.*member = value;
        return;
      }
      allowed.emplace_back(word);
    }
    std::optional<std::string> close = nearest(to_lower_ascii(given), allowed);
    refuse(name, given, fmt::format("one of {}", fmt::join(allowed, ", ")),
           close ? fmt::format("did you mean {}?", *close) : "");
  };
  option.get = [member, words](const TrainConfig& config) -> std::string {
    for (const auto& [word, value] : words) {
      if (config.*member == value) return value_text(word);
    }
    return "";
  };
  return option;
}

inline TrainOption flag(const OptionText& text, bool TrainConfig::*member) {
  TrainOption option = make_option(text);
  option.set = [name = text.name, member](TrainConfig& config, const std::string& given) {
    if (given != "true" && given != "false") refuse(name, given, "true or false");
    config.*member = given == "true";
  };
  option.get = [member](const TrainConfig& config) { return value_text(config.*member); };
  return option;
}

// `auto` is stored as 0.
inline TrainOption thread_count(const OptionText& text, int TrainConfig::*member) {
  static constexpr int kMost = 1024;
  TrainOption option = make_option(text);
  option.set = [name = text.name, member](TrainConfig& config, const std::string& given) {
    std::optional<int64_t> value = given == "auto" ? 0 : parse_int(given);
    if (!value || *value > kMost || (*value < 1 && given != "auto")) {
      refuse(name, given, fmt::format("auto or a whole number from 1 to {}", kMost));
    }
    config.*member = int(*value);
  };
  option.get = [member](const TrainConfig& config) {
    return config.*member == 0 ? "\"auto\"" : value_text(config.*member);
  };
  option.check = [member, set = option.set](const TrainConfig& config) {
    if (config.*member != 0) check_again(config, config.*member, set);
  };
  return option;
}

}  // namespace pounce::option_kinds
