#include "cli/check_flags.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "cli/flag_parts.h"

namespace pounce::cli {
namespace {

std::vector<Flag> check_flags() {
  std::vector<Flag> flags;
  flags.push_back({.name = "quick",
                   .section = "Data",
                   .default_text = "off",
                   .help = "headers only: no damaged bodies, no duplicates",
                   .set = [](Settings& settings, const std::string& value) {
                     settings.check.quick = parse_switch("quick", value);
                   }});
  flags.push_back({.name = "strict",
                   .section = "Data",
                   .default_text = "off",
                   .help = "exit code 1 when there is a finding",
                   .set = [](Settings& settings, const std::string& value) {
                     settings.check_strict = parse_switch("strict", value);
                   }});
  flags.push_back(like_train("labels", [](Settings& settings, const TrainConfig& checked) {
    settings.check.labels = checked.labels;
  }));
  flags.push_back(like_train("workers", [](Settings& settings, const TrainConfig& checked) {
    settings.check.workers = checked.workers;
  }));
  for (Flag& flag : flags) flag.is_essential = true;
  flags.push_back(output_switch({.name = "verbose",
                                 .short_name = 'v',
                                 .section = {},
                                 .default_text = "off",
                                 .help = "every file of the long lists"},
                                &OutputSettings::verbose));
  add_output_flags(flags, "everything as one line of JSON");
  return flags;
}

}  // namespace

Command check_command() {
  return {.name = "check",
          .arguments = "DIR",
          .summary = "find damage and duplicates in a folder",
          .details =
              "Decodes every image below DIR and writes nothing there. Prints the classes with "
              "their counts, what is damaged, unreadable, unsupported or ignored, classes that "
              "differ between the splits, equal files, pictures that several splits have in "
              "common (also encoded again, resized or mirrored), sizes and imbalance, and what "
              "pounce train would refuse.",
          .examples = {"pounce check photos", "pounce check photos --quick --strict"},
          .flags = check_flags(),
          .take_arguments = [](Settings& settings, const std::vector<std::string>& arguments) {
            if (arguments.size() != 1) {
              fail_with_hint(
                  ErrorKind::Config, "for example: pounce check photos",
                  "check: expected one folder, found {}",
                  arguments.empty() ? "nothing" : fmt::format("{}", fmt::join(arguments, ", ")));
            }
            settings.check.data = arguments[0];
          }};
}

}  // namespace pounce::cli
