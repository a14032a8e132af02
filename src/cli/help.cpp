#include "cli/help.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"

namespace pounce::cli {
namespace {

constexpr int kFlagColumn = 30;  // where the help of a flag begins

constexpr int kCommandColumn = 38;  // where the summary of a command begins

// Words of `text` in lines up to `width` columns.
std::vector<std::string> wrap(std::string_view text, int width) {
  std::vector<std::string> lines;
  std::string line;
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.find(' ', at), text.size());
    std::string_view word = text.substr(at, end - at);
    if (!line.empty() && display_width(line) + 1 + display_width(word) > width) {
      lines.push_back(std::move(line));
      line.clear();
    }
    if (!line.empty()) line += ' ';
    line += word;
    at = end + 1;
  }
  if (!line.empty()) lines.push_back(std::move(line));
  return lines;
}

std::string indented(std::string_view text, int indent, int width = kHelpWidth) {
  std::string block;
  for (const std::string& line : wrap(text, width - indent)) {
    block += std::string(size_t(indent), ' ') + line + '\n';
  }
  return block;
}

// Flag and help side by side, the help from `column` to `width`; a long flag has a line of its own.
std::string flag_line(const Flag& flag, int column, int width) {
  std::string left = "  " + flag.usage();
  std::string right = indented(flag.help, column, width);
  if (display_width(left) + 1 > column) return left + '\n' + right;
  return left + right.substr(left.size());
}

// Just behind the longest flag of the short help.
int short_help_column(const Command& command) {
  int column = 0;
  for (const Flag& flag : command.flags) {
    if (flag.is_essential) column = std::max(column, display_width(flag.usage()) + 4);
  }
  return std::min(column, kFlagColumn);
}

std::string usage_line(const Command& command) {
  return fmt::format("usage: {} [flags]\n", command.usage());
}

std::string examples(const Command& command) {
  std::string text = "\nExamples\n";
  for (const std::string& example : command.examples) text += fmt::format("  {}\n", example);
  return text;
}

std::string other_flags(const Command& command) {
  std::string names;
  for (const Flag& flag : command.flags) {
    if (flag.is_essential || flag.action != FlagAction::Set) continue;
    names += fmt::format(" --{}", flag.name);
  }
  return names.empty() ? "" : indented("also:" + names, 2, kScreenWidth);
}

std::string command_line_of(const Command& command) {
  return pad_right("  " + command.usage(), kCommandColumn) + command.summary + '\n';
}

}  // namespace

std::span<const ProgramFlag> program_flags() {
  static const std::vector<ProgramFlag> flags = {
      {"-h", "-h, --help", "this help"},
      {"-V", "-V, --version", "the version of Pounce"},
      {"--completions", "--completions bash|zsh|fish", "a completion script for a shell"},
      {"--help-man", "--help-man", "the manual page"},
      {"--help-markdown", "--help-markdown", "every flag of every command, as Markdown"}};
  return flags;
}

std::span<const ExitCode> exit_codes() {
  static const std::vector<ExitCode> codes = {
      {"0", "done"},
      {"1", "the work failed, or a device that was asked for cannot be used"},
      {"2", "wrong usage or configuration; nothing was started"},
      {"130, 143", "stopped by Ctrl-C (SIGINT) or SIGTERM; the model so far was kept"}};
  return codes;
}

std::string program_help() {
  std::string text =
      "usage: pounce COMMAND ...\n"
      "Trains image classifiers on folders of photos.\n\n";
  for (const Command& command : commands()) {
    text += command_line_of(command);
  }
  text +=
      "\n"
      "  pounce COMMAND -h                     the flags used most, on one screen\n"
      "  pounce COMMAND --help                 every flag, with defaults\n";
  for (const ProgramFlag& flag : program_flags()) {
    text += pad_right("  pounce " + flag.usage, kCommandColumn) + flag.help + '\n';
  }
  return text;
}

std::string group_help(const std::string& group) {
  std::string text = fmt::format("usage: pounce {} COMMAND ...\n\n", group);
  for (const Command& command : commands()) {
    if (command.name.starts_with(group + ' ')) text += command_line_of(command);
  }
  return text + fmt::format("\n  pounce {} COMMAND -h   its flags\n", group);
}

std::string short_help(const Command& command) {
  std::string text = usage_line(command) + indented(command.summary, 2, kScreenWidth) + '\n';
  int column = short_help_column(command);
  for (const Flag& flag : command.flags) {
    if (flag.is_essential) text += flag_line(flag, column, kScreenWidth);
  }
  text += other_flags(command);
  text += fmt::format("\nfor example: {}\nall flags with defaults: pounce {} --help\n",
                      command.examples.front(), command.name);
  return text;
}

std::string full_help(const Command& command) {
  std::string text = usage_line(command) + '\n' + indented(command.details, 0);
  std::string section;
  for (const Flag& flag : command.flags) {
    if (flag.section != section) text += fmt::format("\n{}\n", section = flag.section);
    text += flag_line(flag, kFlagColumn, kHelpWidth);
    if (!flag.default_text.empty()) text += indented("default: " + flag.default_text, kFlagColumn);
    text += indented(flag.details, kFlagColumn);
  }
  text += indented("Every switch has a --no- form, such as --no-json.", 0).insert(0, "\n");
  return text + examples(command);
}

}  // namespace pounce::cli
