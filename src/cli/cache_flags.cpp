#include "cli/cache_flags.h"

#include <optional>

#include <fmt/ranges.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/flag_parts.h"

namespace pounce::cli {
namespace {

void set_days(Settings& settings, const std::string& given) {
  constexpr double kMostDays = 100'000;
  std::optional<double> days = parse_double(given);
  if (!days || *days < 0 || *days > kMostDays) {
    fail(ErrorKind::Config, "--older-than {}: expected a number of days from 0 to {}",
         given.empty() ? "(empty)" : given, kMostDays);
  }
  settings.cache.older_than_days = *days;
}

std::vector<Flag> cache_flags() {
  std::vector<Flag> flags;
  flags.push_back({.name = "clear",
                   .section = "Cache",
                   .default_text = "off",
                   .help = "remove the files instead of only showing them",
                   .is_essential = true,
                   .set = [](Settings& settings, const std::string& given) {
                     settings.clear_cache = parse_switch("clear", given);
                   }});
  flags.push_back({.name = "older-than",
                   .section = "Cache",
                   .value_name = "DAYS",
                   .default_text = "0 (all)",
                   .help = "only files that no run has used for so long",
                   .is_essential = true,
                   .set = set_days});
  add_output_flags(flags, "the files as one line of JSON");
  return flags;
}

}  // namespace

Command cache_command() {
  return {.name = "cache",
          .arguments = "[DIR]",
          .summary = "show or clear what is cached between runs",
          .details =
              "Lists the files of the cache folder ($POUNCE_CACHE_DIR, else "
              "$XDG_CACHE_HOME/pounce, else ~/.cache/pounce): data set, size, last use. DIR: "
              "only those of this data folder and of folders below it. Everything there can be "
              "made again, so --clear costs time and nothing else; runs that use a file at the "
              "moment go on. Files that Pounce did not write are left alone.",
          .examples = {"pounce cache", "pounce cache --clear --older-than 30",
                       "pounce cache photos/ --clear"},
          .flags = cache_flags(),
          .take_arguments = [](Settings& settings, const std::vector<std::string>& arguments) {
            if (arguments.size() > 1 || (arguments.size() == 1 && arguments[0].empty())) {
              fail_with_hint(ErrorKind::Config, "for example: pounce cache photos/ --clear",
                             "cache: expected one folder at most, found {}",
                             arguments[0].empty() ? "an empty name"
                                                  : fmt::format("{}", fmt::join(arguments, ", ")));
            }
            if (!arguments.empty()) settings.cache.data = arguments[0];
          }};
}

}  // namespace pounce::cli
