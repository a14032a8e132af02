#include "cli/flag_table.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "base/error.h"
#include "cli/bench_flags.h"
#include "cli/cache_flags.h"
#include "cli/check_flags.h"
#include "cli/flag_parts.h"

namespace pounce::cli {
namespace {

// ---- train ----

std::vector<Flag> train_flags() {
  static const std::set<std::string_view> kEssential = {"model",        "image-size", "epochs",
                                                        "batch-size",   "lr",         "hflip",
                                                        "val-fraction", "device",     "out"};
  std::vector<Flag> flags;
  for (const TrainOption& option : train_options()) {
    flags.push_back(to_flag(option));
    flags.back().is_essential = kEssential.contains(option.name);
  }
  flags.push_back(
      {.name = "config",
       .section = "Run",
       .value_name = "FILE",
       .default_text = "none",
       .help = "read settings from a TOML file; flags go first",
       .details = "Its keys are the names of these flags, and `data` for DIR. "
                  "config.toml of a run folder repeats that run.",
       .is_essential = true,
       .set = [](Settings& settings, const std::string& value) { settings.config_file = value; }});
  flags.push_back({.name = "dry-run",
                   .section = "Run",
                   .default_text = "off",
                   .help = "show what would be trained, and the memory it needs; write nothing",
                   .set = [](Settings& settings, const std::string& value) {
                     settings.dry_run = parse_switch("dry-run", value);
                   }});
  flags.push_back(output_word<ProgressMode>(
      {.name = "progress",
       .section = {},
       .default_text = "auto",
       .help = "progress: auto, bar, plain or none",
       .details = "bar: a line that is redrawn; plain: one line an epoch; auto: bar on a terminal, "
                  "else plain."},
      &OutputSettings::progress,
      {{"auto", ProgressMode::Auto},
       {"bar", ProgressMode::Bar},
       {"plain", ProgressMode::Plain},
       {"none", ProgressMode::None}}));
  flags.push_back(output_switch({.name = "verbose",
                                 .short_name = 'v',
                                 .section = {},
                                 .help = "more about programs and epochs"},
                                &OutputSettings::verbose));
  add_output_flags(flags, "events as JSON, one object a line, on standard output");
  return flags;
}

void take_train_arguments(Settings& settings, const std::vector<std::string>& arguments) {
  if (arguments.size() > 1) {
    fail_with_hint(ErrorKind::Config, "put a name with spaces in quotes",
                   "train: expected one folder, found {}: {}", arguments.size(),
                   fmt::join(arguments, ", "));
  }
  if (!arguments.empty()) settings.train.data = arguments[0];
  if (settings.train.data.empty()) {
    fail_with_hint(ErrorKind::Config,
                   "name the folder that holds a folder of images per class: "
                   "pounce train photos/",
                   "train: no folder of images was named");
  }
}

Command train_command() {
  return {.name = "train",
          .arguments = "[DIR]",
          .summary = "train a classifier on a folder of images",
          .details =
              "DIR holds one folder of images per class, or train/ and val/ (and test/) with "
              "such folders. The results go to a new run folder, whose best.safetensors is "
              "the model; its path is the last line on standard output. Ctrl-C stops after "
              "the current step and keeps the model so far.",
          .examples = {"pounce train photos/", "pounce train photos/ --epochs 60 -o runs/long",
                       "pounce train --config runs/photos-1/config.toml"},
          .flags = train_flags(),
          .take_arguments = take_train_arguments};
}

// ---- eval ----

std::vector<Flag> eval_flags() {
  std::vector<Flag> flags;
  const Words<SplitChoice> splits = {{"val", SplitChoice::Val},
                                     {"test", SplitChoice::Test},
                                     {"train", SplitChoice::Train},
                                     {"all", SplitChoice::All}};
  flags.push_back({.name = "split",
                   .section = "Data",
                   .value_name = "WORD",
                   .default_text = "val",
                   .help = "images to measure on: val, test, train or all",
                   .details =
                       "Where training held images back by rule, val is just those. A folder "
                       "of class folders that training never saw wants all.",
                   .choices = names_of(splits),
                   .is_essential = true,
                   .set = [splits](Settings& settings, const std::string& value) {
                     settings.eval.split = parse_word("split", value, splits);
                   }});
  flags.push_back({.name = "dump",
                   .section = "Data",
                   .value_name = "FILE",
                   .default_text = "none",
                   .help = "write path, label and logits of every image as JSON Lines",
                   .is_essential = true,
                   .set = [](Settings& settings, const std::string& value) {
                     if (value.empty()) fail(ErrorKind::Config, "--dump: expected a file's name");
                     settings.dump = value;
                   }});
  flags.push_back(like_train("labels", [](Settings& settings, const TrainConfig& checked) {
    settings.eval.labels = checked.labels;
  }));
  flags.back().section = "Data";
  flags.back().default_text = "the run's own without DIR; else the folders are the classes";
  flags.push_back(like_train("on-bad", [](Settings& settings, const TrainConfig& checked) {
    settings.eval.on_bad = checked.on_bad;
  }));
  flags.back().section = "Data";
  flags.back().default_text = "skip";
  flags.back().details = "auto skips them, but stops when over 10 % of a class cannot be used.";
  flags.push_back(like_train("batch-size", [](Settings& settings, const TrainConfig& checked) {
    settings.eval.batch_size = *checked.batch_size;
  }));
  flags.back().default_text = "64";
  flags.back().help = "images at a time; no influence on any result";
  flags.push_back(like_train("workers", [](Settings& settings, const TrainConfig& checked) {
    settings.eval.workers = checked.workers;
  }));
  flags.push_back(like_train("threads", [](Settings& settings, const TrainConfig& checked) {
    settings.eval.threads = checked.threads;
  }));
  flags.push_back(like_train("device", [](Settings& settings, const TrainConfig& checked) {
    settings.eval.device = checked.device;
  }));
  for (Flag& flag : flags) flag.is_essential = true;
  add_output_flags(flags, "the result as one line of JSON");
  return flags;
}

void take_eval_arguments(Settings& settings, const std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments.size() > 2) {
    fail_with_hint(ErrorKind::Config, "for example: pounce eval runs/photos-1 photos/",
                   "eval: expected a model and at most one folder, found {}",
                   arguments.empty() ? "nothing" : fmt::format("{}", fmt::join(arguments, ", ")));
  }
  settings.eval.model = arguments[0];
  if (arguments.size() > 1) settings.eval.data = arguments[1];
}

Command eval_command() {
  return {.name = "eval",
          .arguments = "MODEL [DIR]",
          .summary = "measure a trained model on labelled images",
          .details =
              "MODEL is a model file, or a run folder (its best model). Without DIR the "
              "images are those the run was trained on. Images are prepared just as in "
              "training. Prints accuracy, loss, a row per class and what is confused most.",
          .examples = {"pounce eval runs/photos-1",
                       "pounce eval best.safetensors new-photos/ "
                       "--split all"},
          .flags = eval_flags(),
          .take_arguments = take_eval_arguments};
}

// ---- predict ----

std::vector<Flag> predict_flags() {
  std::vector<Flag> flags;
  flags.push_back({.name = "null",
                   .short_name = '0',
                   .section = "Data",
                   .default_text = "off",
                   .help = "paths on standard input end with NUL, as find -print0 writes them",
                   .set = [](Settings& settings, const std::string& value) {
                     settings.nul_separated = parse_switch("null", value);
                   }});
  flags.push_back(like_train("batch-size", [](Settings& settings, const TrainConfig& checked) {
    settings.predict.batch_size = *checked.batch_size;
  }));
  flags.back().default_text = "32";
  flags.back().help = "images at a time; no influence on any result";
  flags.push_back(like_train("workers", [](Settings& settings, const TrainConfig& checked) {
    settings.predict.workers = checked.workers;
  }));
  flags.push_back(like_train("threads", [](Settings& settings, const TrainConfig& checked) {
    settings.predict.threads = checked.threads;
  }));
  flags.push_back(like_train("device", [](Settings& settings, const TrainConfig& checked) {
    settings.predict.device = checked.device;
  }));
  for (Flag& flag : flags) flag.is_essential = true;
  add_output_flags(flags, "a JSON object per image, with logits and the best five classes");
  return flags;
}

void take_predict_arguments(Settings& settings, const std::vector<std::string>& arguments) {
  if (arguments.size() < 2) {
    fail_with_hint(ErrorKind::Config, "for example: pounce predict runs/photos-1 new-photos/",
                   "predict: expected a model and at least one image or folder, found {}",
                   arguments.empty() ? "nothing" : arguments[0]);
  }
  settings.predict_model = arguments[0];
  settings.paths.assign(arguments.begin() + 1, arguments.end());
}

Command predict_command() {
  return {.name = "predict",
          .arguments = "MODEL PATH... | -",
          .summary = "classify images with a trained model",
          .details =
              "MODEL is a model file, or a run folder (its best model). Folders are searched "
              "for images; - reads paths from standard input. Prints path, class and "
              "probability, separated by tabs. An image that cannot be read costs one line "
              "on standard error; the others go on, and the exit code is 1.",
          .examples = {"pounce predict runs/photos-1 new-photos/",
                       "find . -name '*.jpg' -print0 | pounce predict best.safetensors - -0"},
          .flags = predict_flags(),
          .take_arguments = take_predict_arguments};
}

// ---- inspect ----

Command inspect_command() {
  Command command = {
      .name = "inspect",
      .arguments = "MODEL",
      .summary = "show what is in a model file",
      .details =
          "MODEL is any safetensors file, or a run folder (its best model). Prints network, "
          "classes, how images are prepared, and type, shape and range of every tensor. Values "
          "that are not finite are counted.",
      .examples = {"pounce inspect runs/photos-1", "pounce inspect resnet18.safetensors --json"},
      .flags = {},
      .take_arguments = [](Settings& settings, const std::vector<std::string>& arguments) {
        if (arguments.size() != 1) {
          fail_with_hint(
              ErrorKind::Config, "for example: pounce inspect runs/photos-1",
              "inspect: expected one model, found {}",
              arguments.empty() ? "nothing" : fmt::format("{}", fmt::join(arguments, ", ")));
        }
        settings.inspect_model = arguments[0];
      }};
  add_output_flags(command.flags, "everything as one line of JSON");
  return command;
}

}  // namespace

std::string Flag::usage() const {
  std::string text = short_name ? fmt::format("-{}", short_name) : "   ";
  if (!name.empty()) text += fmt::format("{} --{}", short_name ? "," : "", name);
  if (!is_switch()) text += " " + value_name;
  return text;
}

std::string Command::usage() const {
  return fmt::format("pounce {}{}{}", name, arguments.empty() ? "" : " ", arguments);
}

const Flag* Command::find(std::string_view flag_name) const {
  for (const Flag& flag : flags) {
    if (!flag.name.empty() && flag.name == flag_name) return &flag;
  }
  return nullptr;
}

const Flag* Command::find(char short_name) const {
  for (const Flag& flag : flags) {
    if (flag.short_name == short_name) return &flag;
  }
  return nullptr;
}

std::span<const Command> commands() {
  static const std::vector<Command> table = {
      train_command(), eval_command(),       predict_command(),      inspect_command(),
      check_command(), bench_step_command(), bench_loader_command(), cache_command()};
  return table;
}

const Command* find_command(std::string_view name) {
  for (const Command& command : commands()) {
    if (command.name == name) return &command;
  }
  return nullptr;
}

bool is_command_group(std::string_view word) {
  std::string start = fmt::format("{} ", word);
  std::span<const Command> all = commands();
  return std::any_of(all.begin(), all.end(),
                     [&](const Command& command) { return command.name.starts_with(start); });
}

std::vector<std::string> config_keys() {
  std::vector<std::string> keys = {"data"};
  for (const TrainOption& option : train_options()) keys.emplace_back(option.name);
  return keys;
}

bool is_preset_key(const std::string& key) {
  return key != "data" && train_option(key).is_preset;
}

void set_config_key(Settings& settings, const std::string& key, const std::string& value) {
  if (key == "data") {
    settings.train.data = value;
  } else {
    train_option(key).set(settings.train, value);
  }
}

}  // namespace pounce::cli
