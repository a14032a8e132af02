#include "cli/man_page.h"

#include <string_view>

#include <fmt/format.h>

#include "cli/flag_table.h"
#include "cli/help.h"

namespace pounce::cli {
namespace {

// Backslashes and hyphens have a meaning in roff, and so have dots and quotes that begin a line.
std::string escaped(std::string_view text) {
  std::string result;
  for (char c : text) {
    bool begins_line = result.empty() || result.back() == '\n';
    if (begins_line && (c == '.' || c == '\'')) result += "\\&";
    if (c == '\\') {
      result += "\\e";
    } else if (c == '-') {
      result += "\\-";
    } else {
      result += c;
    }
  }
  return result;
}

std::string flag_entry(const Flag& flag) {
  std::string usage = flag.usage();
  usage.erase(0, usage.find_first_not_of(' '));
  if (flag.is_switch() && flag.action == FlagAction::Set) usage += ", --no-" + flag.name;
  std::string text = fmt::format(".TP\n\\fB{}\\fR\n{}.", escaped(usage), escaped(flag.help));
  if (!flag.details.empty()) text += "\n" + escaped(flag.details);
  if (!flag.default_text.empty()) text += fmt::format("\nDefault: {}.", escaped(flag.default_text));
  return text + "\n";
}

std::string command_section(const Command& command) {
  std::string text = fmt::format(".SS \"{}\"\n{}\n", escaped(command.usage() + " [flags]"),
                                 escaped(command.details));
  for (const Flag& flag : command.flags) text += flag_entry(flag);
  text += ".PP\nExamples:\n.PP\n.nf\n";
  for (const std::string& example : command.examples) {
    text += fmt::format("    {}\n", escaped(example));
  }
  return text + ".fi\n";
}

std::string entry(const std::string& term, const std::string& meaning) {
  return fmt::format(".TP\n\\fB{}\\fR\n{}\n", escaped(term), escaped(meaning));
}

}  // namespace

std::string man_page() {
  std::string text =
      ".\\\" Made by `pounce --help-man`.\n"
      ".TH POUNCE 1 \"\" \"Pounce " POUNCE_VERSION
      "\" \"User Commands\"\n"
      ".SH NAME\npounce \\- train image classifiers on folders of photos\n"
      ".SH SYNOPSIS\n";
  for (const Command& command : commands()) {
    text += fmt::format("\\fB{}\\fR [flags]\n.br\n", escaped(command.usage()));
  }
  text += ".SH DESCRIPTION\n" +
          escaped(
              "Results go to standard output, messages and progress to standard error. Flags "
              "are written --name value or --name=value; short ones -b 64 or -b64. Every "
              "switch has a --no- form. -- ends the flags. pounce COMMAND -h fits a screen. "
              "Pounce opens no network connection.") +
          "\n.SH COMMANDS\n";
  for (const Command& command : commands()) text += command_section(command);
  text += ".SH OTHER FLAGS\n";
  for (const ProgramFlag& flag : program_flags()) text += entry(flag.usage, flag.help);
  text += ".SH EXIT STATUS\n";
  for (const ExitCode& code : exit_codes()) text += entry(code.code, code.meaning);
  text += ".SH ENVIRONMENT\n";
  text += entry("NO_COLOR", "When set and not empty: no colours, unless --color always is given.");
  text += entry("TERM", "When dumb: no colours and no progress line.");
  return text;
}

}  // namespace pounce::cli
