#include <fmt/format.h>

#include "cli/help.h"
#include "cli/json_events.h"

namespace pounce::cli {
namespace {

// A vertical bar would end a cell of a table.
std::string cell(const std::string& text) {
  std::string escaped;
  for (char c : text) {
    if (c == '|') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string flag_row(const Flag& flag) {
  std::string usage = flag.usage();
  usage.erase(0, usage.find_first_not_of(' '));
  std::string help = flag.help;
  if (!flag.details.empty()) help += ". " + flag.details;
  return fmt::format("| `{}` | {} | {} |\n", cell(usage), cell(flag.default_text), cell(help));
}

std::string command_chapter(const Command& command) {
  std::string text = fmt::format("\n## pounce {}\n\n    {} [flags]\n\n{}\n", command.name,
                                 command.usage(), command.details);
  std::string section;
  for (const Flag& flag : command.flags) {
    if (flag.section != section) {
      section = flag.section;
      text += fmt::format("\n### {}\n\n| flag | default | meaning |\n|---|---|---|\n", section);
    }
    text += flag_row(flag);
  }
  text += "\nExamples:\n\n";
  for (const std::string& example : command.examples) text += fmt::format("    {}\n", example);
  return text;
}

std::string json_chapter() {
  std::string text =
      "\n## JSON\n\n"
      "With `--json` every line of standard output is one object with a key `type`; nothing else "
      "is\n"
      "written there. Keys may be added in later versions. Accuracies go from 0 to 1, sizes are "
      "in\n"
      "bytes, times in seconds. A value that does not exist, such as `val_loss` without "
      "validation\n"
      "images, is null.\n\n"
      "| `type` | keys |\n|---|---|\n";
  for (const JsonEventKeys& row : json_event_keys()) {
    text += fmt::format("| `{}` | {} |\n", row.type, fmt::join(row.keys, ", "));
  }
  return text;
}

constexpr const char* kIntroduction =
    "# The command line\n\n"
    "<!-- Made by `pounce --help-markdown`; a test compares. -->\n\n"
    "Results go to standard output, messages and progress to standard error. Flags are written\n"
    "`--name value` or `--name=value`; short ones `-b 64` or `-b64`. Every switch has a `--no-`\n"
    "form. `--` ends the flags. `pounce COMMAND -h` fits a screen, `--help` says everything, and\n"
    "`pounce --version` prints the version.\n";

constexpr const char* kConfigAndExitCodes =
    "\n## Config files\n\n"
    "`pounce train --config FILE.toml` reads settings from a file. Its keys are the names of the\n"
    "flags of `pounce train`, and `data` for the folder:\n\n"
    "    data = \"photos\"\n"
    "    model = \"resnet18\"\n"
    "    epochs = 40\n"
    "    crop-scale = [0.35, 1.0]\n"
    "    nesterov = false\n\n"
    "Flags go before the file, and the file goes before the defaults. Every run folder holds\n"
    "`config.toml` with all its values; training with it again gives the same model.\n\n"
    "## Exit codes\n\n"
    "| code | meaning |\n|---|---|\n";

constexpr const char* kLastWords =
    "\nA reader of standard output that goes away (`pounce predict ... | head`) ends the command\n"
    "without an error.\n";

}  // namespace

std::string markdown_help() {
  std::string text = kIntroduction;
  for (const Command& command : commands()) text += command_chapter(command);
  text += "\n## pounce\n\n| flag | meaning |\n|---|---|\n";
  for (const ProgramFlag& flag : program_flags()) {
    text += fmt::format("| `pounce {}` | {} |\n", cell(flag.usage), flag.help);
  }
  text +=
      "\nCompletions: `source <(pounce --completions bash)` in `~/.bashrc`. Installed packages\n"
      "bring them and the manual page.\n";
  text += json_chapter() + kConfigAndExitCodes;
  for (const ExitCode& code : exit_codes()) {
    text += fmt::format("| {} | {} |\n", code.code, code.meaning);
  }
  return text + kLastWords;
}

}  // namespace pounce::cli
