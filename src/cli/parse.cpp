#include "cli/parse.h"

#include <utility>
#include <vector>

#include "base/error.h"
#include "cli/config_file.h"
#include "cli/foreign_words.h"

namespace pounce::cli {
namespace {

struct Assignment {
  const Flag* flag;
  std::string value;
};

// "-0.5" is a value, "-x" and "--x" are flags.
bool looks_like_flag(const std::string& word) {
  if (word.size() < 2 || word[0] != '-') return false;
  return word[1] != '.' && (word[1] < '0' || word[1] > '9');
}

class Parser {
 public:
  Parser(const Command& command, std::span<const std::string> words)
      : command_(command), words_(words) {}

  // Stops at the first flag that asks for help or the version.
  FlagAction run() {
    while (at_ < words_.size() && action_ == FlagAction::Set) {
      const std::string& word = words_[at_++];
      if (word == "--") {
        arguments_.insert(arguments_.end(), words_.begin() + long(at_), words_.end());
        break;
      }
      if (word.starts_with("--")) {
        take_long(word.substr(2));
      } else if (word.size() > 1 && word[0] == '-') {
        take_short(word);
      } else {
        refuse_assignment_word(command_, word);
        arguments_.push_back(word);
      }
    }
    return action_;
  }

  const std::vector<Assignment>& assignments() const { return assignments_; }
  const std::vector<std::string>& arguments() const { return arguments_; }

 private:
  void take_long(const std::string& text) {
    size_t equals = text.find('=');
    std::string name = text.substr(0, equals);
    const Flag* flag = command_.find(name);
    bool is_negated = false;
    if (!flag && name.starts_with("no-")) {
      flag = command_.find(name.substr(3));
      is_negated = flag && flag->is_switch() && flag->action == FlagAction::Set;
      if (!is_negated) flag = nullptr;
    }
    if (!flag) fail_unknown_flag(command_, "--" + name);
    if (equals != std::string::npos) {
      bool takes_value = !is_negated && flag->action == FlagAction::Set;
      std::string value = text.substr(equals + 1);
      if (!takes_value) fail(ErrorKind::Config, "--{}: expected no value, found {}", name, value);
      assignments_.push_back({flag, value});
    } else if (flag->is_switch()) {
      take_switch(*flag, !is_negated);
    } else {
      assignments_.push_back({flag, next_value(*flag, "--" + name)});
    }
  }

  void take_short(const std::string& word) {
    for (size_t i = 1; i < word.size() && action_ == FlagAction::Set; ++i) {
      const Flag* flag = command_.find(word[i]);
      // The whole word is named: -lr was meant as --lr.
      if (!flag) fail_unknown_flag(command_, word);
      if (flag->is_switch()) {
        take_switch(*flag, true);
        continue;
      }
      bool is_last = i + 1 == word.size();
      std::string rest = word.substr(i + 1);
      assignments_.push_back({flag, is_last ? next_value(*flag, word) : std::move(rest)});
      return;
    }
  }

  void take_switch(const Flag& flag, bool is_on) {
    action_ = flag.action;
    if (action_ == FlagAction::Set) assignments_.push_back({&flag, is_on ? "true" : "false"});
  }

  std::string next_value(const Flag& flag, const std::string& written) {
    if (at_ < words_.size() && !looks_like_flag(words_[at_])) return words_[at_++];
    std::string found =
        at_ < words_.size() ? fmt::format("the flag {}", words_[at_]) : "the end of the line";
    fail_with_hint(ErrorKind::Config,
                   fmt::format("--{} {}: {}", flag.name, flag.value_name, flag.help),
                   "{}: expected a value, found {}", written, found);
  }

  const Command& command_;
  std::span<const std::string> words_;
  size_t at_ = 0;
  FlagAction action_ = FlagAction::Set;
  std::vector<Assignment> assignments_;
  std::vector<std::string> arguments_;
};

// Presets first, so that a flag goes before its preset wherever it stands.
void apply(const std::vector<Assignment>& assignments, Settings& settings) {
  for (bool is_preset : {true, false}) {
    for (const Assignment& one : assignments) {
      if (one.flag->is_preset == is_preset) one.flag->set(settings, one.value);
    }
  }
}

}  // namespace

Invocation parse_arguments(const Command& command, std::span<const std::string> words) {
  Parser parser(command, words);
  Invocation invocation;
  invocation.action = parser.run();
  if (invocation.action != FlagAction::Set) return invocation;
  Settings& settings = invocation.settings;
  // Set twice on purpose: the first round finds the file, the second one goes before it.
  apply(parser.assignments(), settings);
  if (!settings.config_file.empty()) {
    read_config_file(settings.config_file, settings);
    apply(parser.assignments(), settings);
  }
  command.take_arguments(settings, parser.arguments());
  return invocation;
}

}  // namespace pounce::cli
