#include "cli/completions.h"

#include <optional>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "cli/flag_table.h"
#include "cli/help.h"

namespace pounce::cli {
namespace {

enum class Completed { Nothing, Words, Files, Folders };

// What can stand behind a flag.
Completed value_kind(const Flag& flag) {
  if (!flag.choices.empty()) return Completed::Words;
  if (flag.value_name.starts_with("FILE")) return Completed::Files;
  return flag.value_name == "DIR" ? Completed::Folders : Completed::Nothing;
}

// What can stand beside the flags.
Completed argument_kind(const Command& command) {
  if (command.arguments.empty()) return Completed::Nothing;
  // Models and images are files.
  return command.arguments == "[DIR]" || command.arguments == "DIR" ? Completed::Folders
                                                                    : Completed::Files;
}

struct FirstWord {
  std::string word, summary;
  std::vector<const Command*> group;  // the commands it begins; empty: it is one itself
};

std::vector<FirstWord> first_words() {
  std::vector<FirstWord> words;
  for (const Command& command : commands()) {
    std::string word = command.name.substr(0, command.name.find(' '));
    bool is_single = word == command.name;
    if (words.empty() || words.back().word != word) {
      words.push_back({word, is_single ? command.summary : "commands that begin with " + word, {}});
    }
    if (!is_single) words.back().group.push_back(&command);
  }
  words.push_back({"help", "every flag of a command", {}});
  return words;
}

constexpr std::string_view kShells[] = {"bash", "zsh", "fish"};

// What stands behind `help`.
std::vector<std::string> helped_words() {
  std::vector<std::string> words;
  for (const FirstWord& first : first_words()) {
    if (first.word != "help") words.push_back(first.word);
  }
  return words;
}

std::string second_word(const Command& command) {
  return command.name.substr(command.name.find(' ') + 1);
}

bool has_negative_form(const Flag& flag) {
  return flag.is_switch() && flag.action == FlagAction::Set;
}

// "--batch-size", "-b", "--no-json": all ways to write a flag.
std::vector<std::string> forms_of(const Flag& flag) {
  std::vector<std::string> forms;
  if (!flag.name.empty()) forms.push_back("--" + flag.name);
  if (flag.short_name) forms.push_back(fmt::format("-{}", flag.short_name));
  if (has_negative_form(flag)) forms.push_back("--no-" + flag.name);
  return forms;
}

std::string join_words(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, " "));
}

// ---- bash ----

constexpr const char* kBashHead =
    "# bash completion for pounce; made by `pounce --completions bash`.\n"
    "\n"
    "_pounce_reply() {\n"
    "  mapfile -t COMPREPLY < <(compgen \"$@\" -- \"$cur\")\n"
    "}\n"
    "\n"
    "_pounce_paths() {\n"
    "  compopt -o filenames 2>/dev/null\n"
    "  _pounce_reply \"$1\"\n"
    "}\n"
    "\n"
    "_pounce() {\n"
    "  local cur=\"${COMP_WORDS[COMP_CWORD]}\" prev=\"${COMP_WORDS[COMP_CWORD-1]}\"\n"
    "  local command=\"${COMP_WORDS[1]}\"\n"
    "  COMPREPLY=()\n"
    "  # --flag=value comes as three words.\n"
    "  if [[ $cur == = ]]; then\n"
    "    cur=\"\"\n"
    "  elif [[ $prev == = && $COMP_CWORD -gt 2 ]]; then\n"
    "    prev=\"${COMP_WORDS[COMP_CWORD-2]}\"\n"
    "  fi\n";

std::string bash_reply(Completed kind, const std::vector<std::string>& words) {
  switch (kind) {
    case Completed::Words:
      return fmt::format("_pounce_reply -W '{}'", join_words(words));
    case Completed::Files:
      return "_pounce_paths -f";
    case Completed::Folders:
      return "_pounce_paths -d";
    case Completed::Nothing:
      break;
  }
  return ":";
}

std::string bash_first_words() {
  std::vector<std::string> words;
  for (const ProgramFlag& flag : program_flags()) words.push_back(flag.name);
  std::string groups;
  for (const FirstWord& first : first_words()) {
    words.push_back(first.word);
    if (first.group.empty()) continue;
    std::vector<std::string> seconds;
    for (const Command* command : first.group) seconds.push_back(second_word(*command));
    groups += fmt::format(
        "    {})\n      if (( COMP_CWORD == 2 )); then\n        {}\n        "
        "return\n      fi\n      command=\"{} ${{COMP_WORDS[2]}}\" ;;\n",
        first.word, bash_reply(Completed::Words, seconds), first.word);
  }
  return fmt::format(
      "  if (( COMP_CWORD == 1 )); then\n    {}\n    return\n  fi\n"
      "  case \"$command\" in\n    help) {}; return ;;\n"
      "    --completions) {}; return ;;\n{}  esac\n",
      bash_reply(Completed::Words, words), bash_reply(Completed::Words, helped_words()),
      bash_reply(Completed::Words, {std::begin(kShells), std::end(kShells)}), groups);
}

std::string bash_values() {
  std::string cases;
  for (const Command& command : commands()) {
    for (const Flag& flag : command.flags) {
      if (flag.is_switch()) continue;
      std::vector<std::string> patterns;
      for (const std::string& form : forms_of(flag)) {
        patterns.push_back(fmt::format("\"{} {}\"", command.name, form));
      }
      cases += fmt::format("    {}) {}; return ;;\n", fmt::join(patterns, " | "),
                           bash_reply(value_kind(flag), flag.choices));
    }
  }
  return "  case \"$command $prev\" in\n" + cases + "  esac\n";
}

std::string bash_flags() {
  std::string cases;
  for (const Command& command : commands()) {
    std::vector<std::string> forms;
    for (const Flag& flag : command.flags) {
      for (std::string& form : forms_of(flag)) forms.push_back(std::move(form));
    }
    cases +=
        fmt::format("    \"{} -\"*) {} ;;\n", command.name, bash_reply(Completed::Words, forms));
    cases +=
        fmt::format("    \"{} \"*) {} ;;\n", command.name, bash_reply(argument_kind(command), {}));
  }
  return "  case \"$command $cur\" in\n" + cases + "  esac\n";
}

std::string bash_script() {
  return kBashHead + bash_first_words() + bash_values() + bash_flags() +
         "}\n\ncomplete -F _pounce pounce\n";
}

// ---- zsh ----

// For text inside '...' and, with colons and brackets, inside a specification of _arguments.
std::string zsh_escaped(std::string_view text) {
  std::string escaped;
  for (char c : text) {
    if (c == '\'') {
      escaped += "'\\''";
    } else {
      if (c == ':' || c == '[' || c == ']' || c == '\\') escaped += '\\';
      escaped += c;
    }
  }
  return escaped;
}

std::string zsh_action(Completed kind, const std::vector<std::string>& words) {
  switch (kind) {
    case Completed::Words:
      return fmt::format("({})", join_words(words));
    case Completed::Files:
      return "_files";
    case Completed::Folders:
      return "_files -/";
    case Completed::Nothing:
      break;
  }
  return " ";
}

std::string zsh_flag(const Flag& flag) {
  std::string value;
  if (!flag.is_switch()) {
    value = fmt::format(":{}:{}", zsh_escaped(flag.value_name),
                        zsh_action(value_kind(flag), flag.choices));
  }
  std::string lines;
  for (const std::string& form : forms_of(flag)) {
    bool is_long = form.starts_with("--");
    std::string join = flag.is_switch() ? "" : is_long ? "=" : "+";
    lines += fmt::format("        '{}{}[{}]{}' \\\n", form, join, zsh_escaped(flag.help), value);
  }
  return lines;
}

std::string zsh_command(const Command& command) {
  std::string text = fmt::format("    '{}')\n      _arguments -s -S \\\n", command.name);
  for (const Flag& flag : command.flags) text += zsh_flag(flag);
  return text + fmt::format("        '*:{}:{}' ;;\n", zsh_escaped(command.arguments),
                            zsh_action(argument_kind(command), {}));
}

std::string zsh_list(const std::vector<std::pair<std::string, std::string>>& words) {
  std::string text = "    candidates=(";
  for (const auto& [word, summary] : words) {
    text += fmt::format("\n      '{}:{}'", zsh_escaped(word), zsh_escaped(summary));
  }
  return text + ")\n    _describe command candidates\n    return\n";
}

std::string zsh_script() {
  std::string text =
      "#compdef pounce\n# Made by `pounce --completions zsh`.\n\n_pounce() {\n"
      "  local -a candidates\n  local command=\"$words[2]\" taken=1\n"
      "  if (( CURRENT == 2 )); then\n";
  std::vector<std::pair<std::string, std::string>> firsts;
  std::string groups;
  for (const FirstWord& first : first_words()) {
    firsts.push_back({first.word, first.summary});
    if (first.group.empty()) continue;
    std::vector<std::pair<std::string, std::string>> seconds;
    for (const Command* command : first.group) {
      seconds.push_back({second_word(*command), command->summary});
    }
    groups += fmt::format(
        "  if [[ $command == {} ]]; then\n    if (( CURRENT == 3 )); then\n{}"
        "    fi\n    command=\"$command $words[3]\"\n    taken=2\n  fi\n",
        first.word, zsh_list(seconds));
  }
  for (const ProgramFlag& flag : program_flags()) firsts.push_back({flag.name, flag.help});
  text += zsh_list(firsts) + "  fi\n" + groups;
  text += "  shift $taken words\n  (( CURRENT -= taken ))\n  case \"$command\" in\n";
  for (const Command& command : commands()) text += zsh_command(command);
  text += fmt::format("    help) compadd {} ;;\n    --completions) compadd {} ;;\n",
                      join_words(helped_words()), fmt::join(kShells, " "));
  return text + "  esac\n}\n\n_pounce \"$@\"\n";
}

// ---- fish ----

std::string fish_quoted(std::string_view text) {
  std::string quoted = "'";
  for (char c : text) {
    if (c == '\'' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "'";
}

std::string fish_values(Completed kind, const std::vector<std::string>& words) {
  switch (kind) {
    case Completed::Words:
      return " -x -a " + fish_quoted(join_words(words));
    case Completed::Files:
      return " -r -F";
    case Completed::Folders:
      return " -x -a '(__fish_complete_directories)'";
    case Completed::Nothing:
      break;
  }
  return " -x";
}

std::string fish_flag(const std::string& start, const Flag& flag) {
  std::string line = start;
  if (flag.short_name) line += fmt::format(" -s {}", flag.short_name);
  if (!flag.name.empty()) line += " -l " + flag.name;
  if (!flag.is_switch()) line += fish_values(value_kind(flag), flag.choices);
  line += " -d " + fish_quoted(flag.help) + '\n';
  if (!has_negative_form(flag)) return line;
  return line + start + " -l no-" + flag.name + " -d " + fish_quoted("not: " + flag.help) + '\n';
}

constexpr const char* kFishHead =
    "# fish completion for pounce; made by `pounce --completions fish`.\n\n"
    "# Whether the words behind the program begin with these.\n"
    "function __pounce_at\n"
    "    set -l words (commandline -opc)\n"
    "    set -e words[1]\n"
    "    set -l n (count $argv)\n"
    "    test (count $words) -ge $n; and test \"$words[1..$n]\" = \"$argv\"\n"
    "end\n\n"
    "# Whether just these stand behind the program.\n"
    "function __pounce_is\n"
    "    set -l words (commandline -opc)\n"
    "    set -e words[1]\n"
    "    test \"$words\" = \"$argv\"\n"
    "end\n\n"
    "complete -c pounce -f\n";

std::string fish_script() {
  std::string text = kFishHead;
  auto add = [&text](const std::string& behind, const std::string& word,
                     const std::string& summary) {
    text += fmt::format("complete -c pounce -n '__pounce_is{}' -a {} -d {}\n", behind, word,
                        fish_quoted(summary));
  };
  for (const FirstWord& first : first_words()) {
    add("", first.word, first.summary);
    for (const Command* command : first.group) {
      add(" " + first.word, second_word(*command), command->summary);
    }
  }
  for (const ProgramFlag& flag : program_flags()) add("", flag.name, flag.help);
  for (const std::string& word : helped_words()) add(" help", word, "its flags");
  for (std::string_view shell : kShells) {
    add(" --completions", std::string(shell), "the script for this shell");
  }
  for (const Command& command : commands()) {
    std::string start = fmt::format("complete -c pounce -n '__pounce_at {}'", command.name);
    for (const Flag& flag : command.flags) text += fish_flag(start, flag);
    Completed kind = argument_kind(command);
    if (kind == Completed::Files) text += start + " -F\n";
    if (kind == Completed::Folders) text += start + " -a '(__fish_complete_directories)'\n";
  }
  return text;
}

}  // namespace

std::string completion_script(std::string_view shell) {
  if (shell == "bash") return bash_script();
  if (shell == "zsh") return zsh_script();
  if (shell == "fish") return fish_script();
  fail_with_hint(ErrorKind::Config, "for example: source <(pounce --completions bash)",
                 "--completions {}: expected one of {}", shell.empty() ? "(nothing)" : shell,
                 fmt::join(kShells, ", "));
}

}  // namespace pounce::cli
