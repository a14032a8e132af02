// The table of training options: names, defaults, help, and how text becomes a TrainConfig. Flags,
// config files and documentation are all made from it.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pounce/train.h"

namespace pounce {

enum class OptionGroup { Model, Training, Augmentation, Data, Run };

struct TrainOption {
  std::string_view name;  // "batch-size": flag --batch-size and config key
  char short_name = 0;    // 'b' or 0
  OptionGroup group;
  std::string_view value_name;            // "N"; empty: a switch, which has a --no- form
  std::string_view default_text;          // as help prints it
  std::string_view help;                  // one line
  std::string_view details;               // for --help; may be empty
  std::vector<std::string_view> choices;  // allowed words; empty: any
  // Setting it clears the options it presets; so it goes before them, whatever the order written.
  bool is_preset = false;
  // Throws Config naming the option, what was given and what is allowed.
  std::function<void(TrainConfig&, const std::string&)> set;
  // TOML value of the option, or empty while it is unset.
  std::function<std::string(const TrainConfig&)> get;
  // Throws Config for a value out of range that came without `set`. Empty: nothing to check.
  std::function<void(const TrainConfig&)> check;
};

POUNCE_API std::span<const TrainOption> train_options();

// TOML text with every option that has a value; reading it back gives an equal configuration.
POUNCE_API std::string to_toml(const TrainConfig& config);

}  // namespace pounce
