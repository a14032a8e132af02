// What the flags of several commands have in common: those that follow a training option, those
// that choose a word, and the ones every command has.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "cli/flag_table.h"
#include "pounce/options.h"

namespace pounce::cli {

// Values by the word a user types, in the order of the help.
template <typename T>
using Words = std::vector<std::pair<std::string, T>>;

// Throws Config naming the flag, what was given, what is allowed and the nearest of it.
[[noreturn]] void refuse_word(const std::string& flag, const std::string& given,
                              const std::vector<std::string>& allowed);

template <typename T>
std::vector<std::string> names_of(const Words<T>& words) {
  std::vector<std::string> names;
  for (const auto& [word, value] : words) names.push_back(word);
  return names;
}

template <typename T>
T parse_word(const std::string& flag, const std::string& given, const Words<T>& words) {
  for (const auto& [word, value] : words) {
    if (word == given) return value;
  }
  refuse_word(flag, given, names_of(words));
}

bool parse_switch(const std::string& flag, const std::string& given);

// The option of this name, which must exist.
const TrainOption& train_option(std::string_view name);
// The flag of `pounce train` for an option.
Flag to_flag(const TrainOption& option);
// A flag of another command that follows the rules of the training option of the same name: `copy`
// takes the checked value over.
Flag like_train(std::string_view name, void (*copy)(Settings&, const TrainConfig&));

// A flag of section Output that sets a member of OutputSettings.
Flag output_switch(Flag flag, bool OutputSettings::*member);

template <typename T>
Flag output_word(Flag flag, T OutputSettings::*member, const Words<T>& words) {
  flag.section = "Output";
  flag.value_name = "WORD";
  flag.choices = names_of(words);
  flag.set = [name = flag.name, member, words](Settings& settings, const std::string& value) {
    settings.output.*member = parse_word(name, value, words);
  };
  return flag;
}

// --json, --color, --quiet, the helps and --version.
void add_output_flags(std::vector<Flag>& flags, const std::string& json_help);

}  // namespace pounce::cli
