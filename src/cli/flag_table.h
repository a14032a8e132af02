// Every command and flag of Pounce as one table. Parsing, both helps, the keys of config files and
// docs/cli.md are made from it, so none of them can tell another story.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pounce/bench.h"
#include "pounce/cache.h"
#include "pounce/check.h"
#include "pounce/evaluate.h"
#include "pounce/predict.h"
#include "pounce/train.h"

namespace pounce::cli {

enum class ProgressMode { Auto, Bar, Plain, None };
enum class ColorMode { Auto, Always, Never };

// How a command talks, whatever it does.
struct OutputSettings {
  bool json = false;
  bool quiet = false;
  bool verbose = false;
  ProgressMode progress = ProgressMode::Auto;
  ColorMode color = ColorMode::Auto;
};

// Everything the command line can say. A command reads the members that are its own.
struct Settings {
  OutputSettings output;
  std::string config_file;  // empty: none

  TrainConfig train;
  bool dry_run = false;

  EvalConfig eval;
  std::string dump;  // JSON Lines file with the logits of every image; empty: none

  std::string predict_model;
  PredictOptions predict;
  std::vector<std::string> paths;  // "-": read them from standard input
  bool nul_separated = false;      // of the paths on standard input

  BenchStepConfig bench_step;
  BenchLoaderConfig bench_loader;

  std::string inspect_model;

  CheckConfig check;
  bool check_strict = false;  // findings make the exit code 1

  CacheSelection cache;
  bool clear_cache = false;
};

enum class FlagAction { Set, ShortHelp, FullHelp, Version };

struct Flag {
  std::string name;             // "batch-size"; empty for -h, which has a short form only
  char short_name = 0;          // 'b' or 0
  std::string section;          // heading of the full help
  std::string value_name = {};  // "N"; empty: a switch, which has a --no- form
  std::string default_text = {};
  std::string help = {};                  // one line
  std::string details = {};               // full help only
  std::vector<std::string> choices = {};  // the words it takes; empty: any value
  bool is_essential = false;              // has its line in the short help
  bool is_preset = false;                 // goes before the other flags: TrainOption::is_preset
  FlagAction action = FlagAction::Set;
  // Throws Config naming the flag, what was given and what is allowed. Switches get "true" or
  // "false". Absent for the other actions.
  std::function<void(Settings&, const std::string&)> set = {};

  bool is_switch() const { return value_name.empty(); }
  // "-b, --batch-size N"
  std::string usage() const;
};

struct Command {
  std::string name;       // "train", "bench step"
  std::string arguments;  // "[DIR]"; may be empty
  std::string summary;    // one line
  std::string details;    // a paragraph for the full help
  std::vector<std::string> examples;
  std::vector<Flag> flags;
  // Stores what stands beside the flags. Throws Config.
  std::function<void(Settings&, const std::vector<std::string>&)> take_arguments;

  // "pounce eval MODEL [DIR]"
  std::string usage() const;
  const Flag* find(std::string_view flag_name) const;
  const Flag* find(char short_name) const;
};

std::span<const Command> commands();
// Null when there is none of this name.
const Command* find_command(std::string_view name);
// Whether `word` is the first of commands with two words, as "bench" is.
bool is_command_group(std::string_view word);

// Keys of a file for --config: the training flags and `data`.
std::vector<std::string> config_keys();
// Such keys go before the others.
bool is_preset_key(const std::string& key);
// Throws Config as Flag::set does.
void set_config_key(Settings& settings, const std::string& key, const std::string& value);

}  // namespace pounce::cli
