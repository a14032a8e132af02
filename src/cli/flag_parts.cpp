#include "cli/flag_parts.h"

#include <algorithm>
#include <optional>

#include "base/text.h"

namespace pounce::cli {
namespace {

const char* section_of(OptionGroup group) {
  switch (group) {
    case OptionGroup::Model:
      return "Model";
    case OptionGroup::Training:
      return "Training";
    case OptionGroup::Augmentation:
      return "Augmentation";
    case OptionGroup::Data:
      return "Data";
    case OptionGroup::Run:
      return "Run";
  }
  return "Run";
}

}  // namespace

void refuse_word(const std::string& flag, const std::string& given,
                 const std::vector<std::string>& allowed) {
  std::optional<std::string> close = nearest(to_lower_ascii(given), allowed);
  fail_with_hint(ErrorKind::Config, close ? "did you mean " + *close + "?" : "",
                 "--{} {}: expected one of {}", flag, given.empty() ? "(empty)" : given,
                 fmt::join(allowed, ", "));
}

bool parse_switch(const std::string& flag, const std::string& given) {
  return parse_word<bool>(flag, given, {{"true", true}, {"false", false}});
}

const TrainOption& train_option(std::string_view name) {
  std::span<const TrainOption> options = train_options();
  auto found = std::find_if(options.begin(), options.end(),
                            [&](const TrainOption& option) { return option.name == name; });
  POUNCE_ASSERT(found != options.end());
  return *found;
}

Flag to_flag(const TrainOption& option) {
  Flag flag{.name = std::string(option.name),
            .short_name = option.short_name,
            .section = section_of(option.group),
            .value_name = std::string(option.value_name),
            .default_text = std::string(option.default_text),
            .help = std::string(option.help),
            .details = std::string(option.details),
            .choices = {option.choices.begin(), option.choices.end()},
            .is_preset = option.is_preset};
  flag.set = [&option](Settings& settings, const std::string& value) {
    option.set(settings.train, value);
  };
  return flag;
}

Flag like_train(std::string_view name, void (*copy)(Settings&, const TrainConfig&)) {
  const TrainOption& option = train_option(name);
  Flag flag = to_flag(option);
  flag.section = "Run";
  flag.set = [&option, copy](Settings& settings, const std::string& value) {
    TrainConfig checked;
    option.set(checked, value);
    copy(settings, checked);
  };
  return flag;
}

Flag output_switch(Flag flag, bool OutputSettings::*member) {
  flag.section = "Output";
  flag.default_text = "off";
  flag.set = [name = flag.name, member](Settings& settings, const std::string& value) {
    settings.output.*member = parse_switch(name, value);
  };
  return flag;
}

void add_output_flags(std::vector<Flag>& flags, const std::string& json_help) {
  flags.push_back(
      output_switch({.name = "json", .section = {}, .help = json_help, .is_essential = true},
                    &OutputSettings::json));
  flags.push_back(output_word<ColorMode>(
      {.name = "color",
       .section = {},
       .default_text = "auto",
       .help = "colours: auto, always or never",
       .details = "auto: on a terminal, unless NO_COLOR is set or TERM is dumb."},
      &OutputSettings::color,
      {{"auto", ColorMode::Auto}, {"always", ColorMode::Always}, {"never", ColorMode::Never}}));
  flags.push_back(output_switch(
      {.name = "quiet", .short_name = 'q', .section = {}, .help = "errors and results only"},
      &OutputSettings::quiet));
  flags.push_back({.name = "",
                   .short_name = 'h',
                   .section = "Output",
                   .help = "help that fits a screen",
                   .action = FlagAction::ShortHelp});
  flags.push_back({.name = "help",
                   .section = "Output",
                   .help = "this help: every flag, with defaults",
                   .action = FlagAction::FullHelp});
  flags.push_back({.name = "version",
                   .short_name = 'V',
                   .section = "Output",
                   .help = "the version of Pounce",
                   .action = FlagAction::Version});
}

}  // namespace pounce::cli
