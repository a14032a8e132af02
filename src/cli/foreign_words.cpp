#include "cli/foreign_words.h"

#include <optional>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"

namespace pounce::cli {
namespace {

struct Translation {
  std::string_view foreign;
  std::string_view flag;    // of Pounce; empty where there is none
  std::string_view answer;  // where there is none
};

// Stands for an answer that depends on the command.
constexpr std::string_view kBesideTheFlags = "beside";

constexpr Translation kFlagTranslations[] = {
    {"imgsz", "image-size", ""},
    {"img", "image-size", ""},
    {"img-size", "image-size", ""},
    {"input-size", "image-size", ""},
    {"batch", "batch-size", ""},
    {"bs", "batch-size", ""},
    {"opt", "optimizer", ""},
    {"lr0", "lr", ""},
    {"learning-rate", "lr", ""},
    {"wd", "weight-decay", ""},
    {"num-workers", "workers", ""},
    {"num-epochs", "epochs", ""},
    {"validation-split", "val-fraction", ""},
    {"val-split", "val-fraction", ""},
    {"smoothing", "label-smoothing", ""},
    {"scale", "crop-scale", ""},
    {"arch", "model", ""},
    {"project", "out", ""},
    {"output", "out", ""},
    {"output-dir", "out", ""},
    {"gpus", "device", ""},
    {"crop-pct", "resize-ratio", ""},
    {"data", "", kBesideTheFlags},
    {"data-dir", "", kBesideTheFlags},
    {"num-classes", "", "classes are the folders of images; nothing needs to be said"},
    {"amp", "", "half precision is --precision bf16 or fp16, and auto where the device has it"},
    {"half", "", "half precision is --precision bf16 or fp16, and auto where the device has it"},
    {"reprob", "random-erasing", ""},
    {"crop-mode", "fit", ""},
    {"letterbox", "fit", ""},
    {"erasing", "random-erasing", ""},
    {"jitter", "color-jitter", ""},
    {"resume", "", "this build starts anew: pounce train --config RUN/config.toml repeats a run"},
    {"resume-from", "",
     "this build starts anew: pounce train --config RUN/config.toml repeats a run"},
    {"pretrained", "", "give a file of weights: --init FILE.safetensors (docs/pretrained.md)"},
    {"weights", "init", ""},
    {"finetune", "init", ""},
};

constexpr Translation kCommandTranslations[] = {
    {"fit", "train", ""},     {"val", "eval", ""},          {"validate", "eval", ""},
    {"test", "eval", ""},     {"evaluate", "eval", ""},     {"classify", "predict", ""},
    {"infer", "predict", ""}, {"inference", "predict", ""},
};

// Without dashes, lower case, underscores as dashes: --num_workers means --num-workers.
std::string normal_form(std::string_view word) {
  while (word.starts_with('-')) word.remove_prefix(1);
  std::string text = to_lower_ascii(word);
  for (char& c : text) {
    if (c == '_') c = '-';
  }
  return text;
}

template <size_t N>
const Translation* find_translation(const Translation (&table)[N], std::string_view word) {
  for (const Translation& row : table) {
    if (row.foreign == word) return &row;
  }
  return nullptr;
}

std::string usage_without_short(const Flag& flag) {
  return flag.is_switch() ? "--" + flag.name : fmt::format("--{} {}", flag.name, flag.value_name);
}

std::vector<std::string> flag_names(const Command& command) {
  std::vector<std::string> names;
  for (const Flag& flag : command.flags) {
    if (flag.name.empty()) continue;
    names.push_back(flag.name);
    if (flag.is_switch() && flag.action == FlagAction::Set) names.push_back("no-" + flag.name);
  }
  return names;
}

// The flag of `command` that a word in `normal_form` stands for; null when there is none.
const Flag* find_meant_flag(const Command& command, const std::string& word) {
  if (const Flag* flag = command.find(word)) return flag;
  const Translation* row = find_translation(kFlagTranslations, word);
  return row && !row->flag.empty() ? command.find(row->flag) : nullptr;
}

std::string beside_the_flags(const Command& command) {
  if (command.arguments.empty()) {
    return fmt::format("pounce {} reads no images; leave the flag out", command.name);
  }
  return fmt::format("what it reads stands beside the flags: {}", command.usage());
}

std::string hint_for_flag(const Command& command, const std::string& written) {
  std::string word = normal_form(written);
  if (word.starts_with("no-") && find_translation(kFlagTranslations, word.substr(3))) {
    word.erase(0, 3);
  }
  if (const Flag* flag = find_meant_flag(command, word)) {
    return fmt::format("in Pounce it is {}", usage_without_short(*flag));
  }
  const Translation* row = find_translation(kFlagTranslations, word);
  if (row && row->answer == kBesideTheFlags) return beside_the_flags(command);
  if (row && !row->answer.empty()) return std::string(row->answer);
  if (std::optional<std::string> close = nearest(word, flag_names(command))) {
    return fmt::format("did you mean --{}?", *close);
  }
  for (const Command& other : commands()) {
    if (other.name != command.name && other.find(word)) {
      return fmt::format("it is a flag of pounce {}", other.name);
    }
  }
  return fmt::format("pounce {} -h lists the flags", command.name);
}

// Full names of the commands of `group`; for any other word, what may stand first.
std::vector<std::string> command_words(const std::string& group) {
  std::vector<std::string> names;
  bool is_group = is_command_group(group);
  for (const Command& command : commands()) {
    std::string first = command.name.substr(0, command.name.find(' '));
    if (is_group && first != group) continue;
    const std::string& word = is_group ? command.name : first;
    if (names.empty() || names.back() != word) names.push_back(word);
  }
  return names;
}

}  // namespace

void fail_unknown_flag(const Command& command, const std::string& written) {
  fail_with_hint(ErrorKind::Config, hint_for_flag(command, written), "{}: unknown flag {}",
                 command.name, written);
}

void fail_unknown_command(const std::string& name) {
  std::string hint = "pounce -h lists the commands";
  std::vector<std::string> names = command_words(name.substr(0, name.find(' ')));
  std::string lower = to_lower_ascii(name);
  if (const Translation* row = find_translation(kCommandTranslations, lower)) {
    hint = fmt::format("in Pounce it is pounce {}", row->flag);
  } else if (std::optional<std::string> close = nearest(lower, names)) {
    hint = fmt::format("did you mean pounce {}?", *close);
  } else if (is_directory(name)) {
    hint = fmt::format("did you mean pounce train {}?", name);
  }
  fail_with_hint(ErrorKind::Config, hint, "unknown command {}, expected one of {}", name,
                 fmt::join(names, ", "));
}

void fail_incomplete_command(std::span<const std::string> words) {
  const std::string& group = words[0];
  std::vector<std::string> names = command_words(group);
  std::string hint = fmt::format("for example: pounce {}", names.front());
  if (words.size() == 1) {
    fail_with_hint(ErrorKind::Config, hint, "{} alone is no command, expected one of {}", group,
                   fmt::join(names, ", "));
  }
  fail_with_hint(ErrorKind::Config, fmt::format("{} {}", hint, fmt::join(words.subspan(1), " ")),
                 "{}: expected one of {} before the flag {}", group, fmt::join(names, ", "),
                 words[1]);
}

void refuse_assignment_word(const Command& command, const std::string& word) {
  size_t equals = word.find('=');
  if (equals == std::string::npos) return;
  const Flag* flag = find_meant_flag(command, normal_form(word.substr(0, equals)));
  if (!flag) return;
  std::string value = word.substr(equals + 1);
  fail_with_hint(ErrorKind::Config, fmt::format("write --{} {}", flag->name, value),
                 "{}: {} is neither a flag nor a folder", command.name, word);
}

}  // namespace pounce::cli
