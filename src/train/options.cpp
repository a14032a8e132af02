#include "pounce/options.h"

#include "train/option_kinds.h"
#include "train/options/groups.h"

namespace pounce {

std::span<const TrainOption> train_options() {
  static const std::vector<TrainOption> table = [] {
    std::vector<TrainOption> options;
    add_model_options(options);
    add_length_options(options);
    add_optimizer_options(options);
    add_robustness_options(options);
    add_augmentation_options(options);
    add_data_options(options);
    add_run_options(options);
    return options;
  }();
  return table;
}

std::string to_toml(const TrainConfig& config) {
  std::string text;
  if (!config.data.empty())
    text += fmt::format("data = {}\n", option_kinds::value_text(config.data));
  for (const TrainOption& option : train_options()) {
    // A repeated run gets a folder of its own.
    if (option.name == "out") continue;
    std::string value = option.get(config);
    if (!value.empty()) text += fmt::format("{} = {}\n", option.name, value);
  }
  return text;
}

}  // namespace pounce
