// Completions and the manual page: every flag is in them, shells and groff understand them.
#include "cli/completions.h"

#include <algorithm>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "cli/expect_error.h"
#include "cli/flag_table.h"
#include "cli/help.h"
#include "cli/man_page.h"
#include "cli/process.h"
#include "cli/temporary_folder.h"

namespace pounce::cli {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::UnorderedElementsAreArray;

bool has_program(const std::string& name) {
  return run_shell("command -v " + name).exit_code == 0;
}

bool is_settable_switch(const Flag& flag) {
  return flag.is_switch() && flag.action == FlagAction::Set;
}

std::vector<std::string> written_forms(const Command& command) {
  std::vector<std::string> forms;
  for (const Flag& flag : command.flags) {
    if (!flag.name.empty()) forms.push_back("--" + flag.name);
    if (flag.short_name) forms.push_back(std::string("-") + flag.short_name);
    if (is_settable_switch(flag)) forms.push_back("--no-" + flag.name);
  }
  return forms;
}

// The part of `text` that begins at `start`, up to `end` or the end of the text.
std::string part(const std::string& text, const std::string& start, const std::string& end) {
  size_t at = text.find(start);
  EXPECT_NE(at, std::string::npos) << start;
  if (at == std::string::npos) return "";
  return text.substr(at, text.find(end, at + start.size()) - at);
}

TEST(Completions, EveryFlagIsEverywhere) {
  std::string zsh = completion_script("zsh"), fish = completion_script("fish"), man = man_page(),
              markdown = markdown_help();
  for (const Command& command : commands()) {
    SCOPED_TRACE(command.name);
    std::string of_zsh = part(zsh, "'" + command.name + "')", ";;");
    std::string of_man = part(man, ".SS \"pounce " + command.name, ".SS ");
    std::string of_markdown = part(markdown, "## pounce " + command.name + "\n", "\n## ");
    std::string of_fish = "complete -c pounce -n '__pounce_at " + command.name + "'";
    for (const Flag& flag : command.flags) {
      EXPECT_THAT(full_help(command), HasSubstr(flag.usage()));
      if (flag.name.empty()) continue;
      EXPECT_THAT(of_zsh, HasSubstr("'--" + flag.name));
      EXPECT_THAT(of_markdown, HasSubstr("--" + flag.name));
      std::string fish_name =
          (flag.short_name ? std::string(" -s ") + flag.short_name : "") + " -l " + flag.name + " ";
      EXPECT_THAT(fish, HasSubstr(of_fish + fish_name));
      std::string escaped = "\\-\\-" + flag.name;
      for (size_t at = 4; (at = escaped.find('-', at)) != std::string::npos; at += 2) {
        escaped.insert(at, "\\");
      }
      EXPECT_THAT(of_man, HasSubstr(escaped));
      if (!is_settable_switch(flag)) continue;
      EXPECT_THAT(of_zsh, HasSubstr("'--no-" + flag.name));
      EXPECT_THAT(fish, HasSubstr(of_fish + " -l no-" + flag.name + " "));
    }
  }
  for (const ProgramFlag& flag : program_flags()) {
    EXPECT_THAT(program_help(), HasSubstr(flag.usage));
    for (const std::string& script : {completion_script("bash"), zsh, fish}) {
      EXPECT_THAT(script, HasSubstr(flag.name));
    }
  }
  EXPECT_THAT(zsh, HasSubstr("help) compadd train eval predict inspect check bench"));
  EXPECT_THAT(fish, HasSubstr("'__pounce_is help' -a bench"));
}

TEST(Completions, UnknownShellsAreNamed) {
  Error error = error_of([] { completion_script("tcsh"); });
  EXPECT_THAT(error.message(), HasSubstr("tcsh: expected one of bash, zsh, fish"));
  EXPECT_EQ(run_pounce({"--completions"}).exit_code, 2);
  EXPECT_EQ(run_pounce({"--completions", "zsh"}).out, completion_script("zsh"));
  EXPECT_EQ(run_pounce({"--help-man"}).out, man_page());
}

// Runs the completion of `words`, the last of which is being typed, in bash.
class Bash : public testing::Test {
 protected:
  void SetUp() override {
    write_file(folder_.path("completion"), completion_script("bash"));
    make_directories(folder_.path("here/photos dir"));
    write_file(folder_.path("here/model.safetensors"), "x");
  }

  std::vector<std::string> complete(const std::vector<std::string>& words) const {
    std::string list = "pounce";
    for (const std::string& word : words) list += " '" + word + "'";
    write_file(folder_.path("script"),
               "set -u\nsource '" + folder_.path("completion") + "'\ncd '" + folder_.path("here") +
                   "'\nCOMP_WORDS=(" + list + ")\nCOMP_CWORD=" + std::to_string(words.size()) +
                   "\n_pounce\n(( ${#COMPREPLY[@]} )) && printf '%s\\n' \"${COMPREPLY[@]}\"\n" +
                   "complete -p pounce >/dev/null || echo unregistered\n");
    std::istringstream lines(run_shell("bash '" + folder_.path("script") + "'").out);
    std::vector<std::string> found;
    for (std::string line; std::getline(lines, line);) found.push_back(line);
    return found;
  }

  TemporaryFolder folder_;
};

TEST_F(Bash, EveryFlagOfEveryCommand) {
  for (const Command& command : commands()) {
    std::vector<std::string> words;
    std::istringstream name(command.name);
    for (std::string word; name >> word;) words.push_back(word);
    words.push_back("-");
    EXPECT_THAT(complete(words), UnorderedElementsAreArray(written_forms(command))) << command.name;
  }
}

TEST_F(Bash, EveryChoice) {
  for (const Command& command : commands()) {
    for (const Flag& flag : command.flags) {
      if (flag.choices.empty()) continue;
      std::vector<std::string> words;
      std::istringstream name(command.name);
      for (std::string word; name >> word;) words.push_back(word);
      words.insert(words.end(), {"--" + flag.name, ""});
      EXPECT_THAT(complete(words), UnorderedElementsAreArray(flag.choices)) << flag.name;
    }
  }
}

TEST_F(Bash, WordsAndPaths) {
  EXPECT_THAT(complete({"tr"}), ElementsAre("train"));
  EXPECT_THAT(complete({"bench", "st"}), ElementsAre("step"));
  EXPECT_THAT(complete({"help", "pre"}), ElementsAre("predict"));
  EXPECT_THAT(complete({"--completions", ""}), ElementsAre("bash", "zsh", "fish"));
  EXPECT_THAT(complete({"train", "--model", "resnet1"}), ElementsAre("resnet18", "resnet101"));
  EXPECT_THAT(complete({"train", "--model", "=", "c"}), ElementsAre("cnn"));
  EXPECT_THAT(complete({"train", "--model", "="}), Contains("resnet50"));
  EXPECT_THAT(complete({"train", "--epochs", ""}), ElementsAre());
  EXPECT_THAT(complete({"train", "ph"}), ElementsAre("photos dir"));
  EXPECT_THAT(complete({"train", "mo"}), ElementsAre());
  EXPECT_THAT(complete({"train", "--config", "mo"}), ElementsAre("model.safetensors"));
  EXPECT_THAT(complete({"inspect", "mo"}), ElementsAre("model.safetensors"));
  EXPECT_THAT(complete({"predict", "model.safetensors", "ph"}), ElementsAre("photos dir"));
}

TEST(Completions, ShellsReadTheirScripts) {
  TemporaryFolder folder;
  int read = 0;
  for (const char* shell : {"bash", "zsh", "fish"}) {
    write_file(folder.path(shell), completion_script(shell));
    if (!has_program(shell)) continue;
    Outcome outcome = run_shell(std::string(shell) + " -n '" + folder.path(shell) + "'");
    EXPECT_EQ(outcome.exit_code, 0) << shell << ": " << outcome.out;
    EXPECT_EQ(outcome.out, "") << shell;
    ++read;
  }
  if (read < 3) GTEST_SKIP() << "only " << read << " of bash, zsh and fish are here";
}

TEST(ManPage, GroffHasNothingToSay) {
  if (!has_program("groff")) GTEST_SKIP() << "groff is not here";
  TemporaryFolder folder;
  write_file(folder.path("pounce.1"), man_page());
  Outcome outcome =
      run_shell("groff -ww -man -Tutf8 -P-cbou -rLL=100n '" + folder.path("pounce.1") + "'");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, Not(HasSubstr("warning")));
  EXPECT_THAT(outcome.out, Not(HasSubstr("error:")));
  EXPECT_THAT(outcome.out, HasSubstr("pounce - train image classifiers"));
  EXPECT_THAT(outcome.out, HasSubstr("--image-size N"));
  EXPECT_THAT(outcome.out, HasSubstr("pounce bench step [flags]"));
  EXPECT_THAT(outcome.out, HasSubstr("EXIT STATUS"));
}

}  // namespace
}  // namespace pounce::cli
