#include "cli/command_line.h"

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <iterator>
#include <new>
#include <optional>
#include <system_error>
#include <vector>

#include <signal.h>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/completions.h"
#include "cli/foreign_words.h"
#include "cli/help.h"
#include "cli/json_events.h"
#include "cli/man_page.h"
#include "cli/parse.h"
#include "pounce/event_json.h"

namespace pounce::cli {
namespace {

constexpr int kDone = 0, kFailed = 1, kWrongUsage = 2;

int exit_code_of(ErrorKind kind) {
  bool is_usage = kind == ErrorKind::Config || kind == ErrorKind::InvalidArgument;
  return is_usage ? kWrongUsage : kFailed;
}

// Output::result adds the line feed that help texts end with.
void print_text(Output& output, std::string text) {
  if (text.ends_with('\n')) text.pop_back();
  output.result(text);
}

std::string version_text() {
  return "pounce " POUNCE_VERSION;
}

struct CommandFunction {
  std::string_view name;
  int (*run)(Session& session);
  // Saves nothing, and every line it printed is complete; it may be waiting or in a long step.
  bool can_end_at_once = false;
};

constexpr CommandFunction kFunctions[] = {
    {"train", run_train},
    {"eval", run_eval},
    {"predict", run_predict, true},
    {"inspect", run_inspect, true},
    {"check", run_check, true},
    {"bench step", run_bench_step, true},
    {"bench loader", run_bench_loader, true},
    {"cache", run_cache, true},
};

int run_command(const Command& command, const Settings& settings) {
  auto function = std::find_if(std::begin(kFunctions), std::end(kFunctions),
                               [&](const auto& row) { return row.name == command.name; });
  POUNCE_ASSERT(function != std::end(kFunctions));
  Output output(settings.output);
  bool can_end_at_once = function->can_end_at_once;
  SignalStop stop([&output, can_end_at_once](int signal) {
    if (can_end_at_once) std::_Exit(128 + signal);
    output.message("stopping after the current step; once more to stop at once");
  });
  Session session{settings, output, stop};
  try {
    return function->run(session);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::Interrupted || !stop.was_requested()) throw;
    return stop.exit_code();
  }
}

using BeforeWork = std::function<void()>;

int run_parsed(const Command& command, std::span<const std::string> words, Output& output,
               const BeforeWork& before_work) {
  Invocation invocation = parse_arguments(command, words);
  switch (invocation.action) {
    case FlagAction::Set:
      before_work();
      return run_command(command, invocation.settings);
    case FlagAction::ShortHelp:
      print_text(output, short_help(command));
      break;
    case FlagAction::FullHelp:
      print_text(output, full_help(command));
      break;
    case FlagAction::Version:
      print_text(output, version_text());
      break;
  }
  return kDone;
}

bool asks_for_help(const std::string& word) {
  return word == "-h" || word == "--help";
}

// The command that `words` begin with, whose words are taken off. Throws Config where there is
// none.
const Command& take_command(std::span<const std::string>& words) {
  std::string name = words[0];
  size_t taken = 1;
  if (is_command_group(name)) {
    if (words.size() < 2 || words[1].starts_with('-')) fail_incomplete_command(words);
    name += " " + words[1];
    taken = 2;
  }
  const Command* command = find_command(name);
  if (!command) fail_unknown_command(name);
  words = words.subspan(taken);
  return *command;
}

// What stands in place of a command takes no words.
void refuse_more_words(const std::string& before, std::span<const std::string> words) {
  if (words.empty()) return;
  fail_with_hint(ErrorKind::Config, "pounce " + before, "{}: expected nothing after it, found {}",
                 before, fmt::join(words, " "));
}

// The words after `help`. "help train -h" asks for nothing else than "help train".
int run_help(std::span<const std::string> words, Output& output) {
  std::vector<std::string> topic;
  std::copy_if(words.begin(), words.end(), std::back_inserter(topic),
               [](const std::string& word) { return !asks_for_help(word); });
  if (topic.empty() || (topic.size() == 1 && topic[0] == "help")) {
    return print_text(output, program_help()), kDone;
  }
  if (topic.size() == 1 && is_command_group(topic[0])) {
    return print_text(output, group_help(topic[0])), kDone;
  }
  std::span<const std::string> rest = topic;
  const Command& command = take_command(rest);
  refuse_more_words("help " + command.name, rest);
  return print_text(output, full_help(command)), kDone;
}

// Flags that stand in place of a command; nullopt for any other word.
std::optional<std::string> program_answer(std::span<const std::string> words) {
  const std::string& first = words[0];
  std::span<const std::string> rest = words.subspan(1);
  if (first == "--completions") {
    std::string shell = rest.empty() ? "" : rest[0];
    std::string script = completion_script(shell);
    refuse_more_words(first + " " + shell, rest.subspan(1));
    return script;
  }
  std::optional<std::string> text;
  if (first == "-V" || first == "--version") text = version_text();
  if (first == "--help-markdown") text = markdown_help();
  if (first == "--help-man") text = man_page();
  if (text) refuse_more_words(first, rest);
  return text;
}

int dispatch(std::span<const std::string> words, Output& output, const BeforeWork& before_work) {
  if (words.empty()) {
    std::string help = program_help();
    help.pop_back();
    output.finished_text(help);
    return kWrongUsage;
  }
  const std::string& first = words[0];
  std::span<const std::string> rest = words.subspan(1);
  if (asks_for_help(first) || first == "help") return run_help(rest, output);
  if (std::optional<std::string> answer = program_answer(words)) {
    return print_text(output, std::move(*answer)), kDone;
  }
  if (first.starts_with('-')) {
    fail_with_hint(ErrorKind::Config, "pounce -h lists the commands",
                   "expected a command before the flag {}", first);
  }
  bool asks_for_group = is_command_group(first) && !rest.empty() && asks_for_help(rest[0]);
  if (asks_for_group) return print_text(output, group_help(first)), kDone;
  rest = words;
  const Command& command = take_command(rest);
  return run_parsed(command, rest, output, before_work);
}

// Errors may come before the flags are understood, so the words themselves are looked through.
OutputSettings settings_for_errors(std::span<const std::string> words) {
  OutputSettings settings;
  auto end = std::find(words.begin(), words.end(), "--");
  settings.json = std::find(words.begin(), end, "--json") != end;
  if (std::find(words.begin(), end, "--color=never") != end) settings.color = ColorMode::Never;
  if (std::find(words.begin(), end, "--color=always") != end) settings.color = ColorMode::Always;
  for (auto word = words.begin(); word != end; ++word) {
    if (*word != "--color" || word + 1 == end) continue;
    if (word[1] == "never") settings.color = ColorMode::Never;
    if (word[1] == "always") settings.color = ColorMode::Always;
  }
  return settings;
}

int report(const Error& error, Output& output, bool json) {
  print_error(output, error);
  if (!json) return exit_code_of(error.kind());
  try {
    output.result(error_to_json(error));
  } catch (...) {
    // Nobody reads standard output any more; standard error has the message.
  }
  return exit_code_of(error.kind());
}

Error current_error() {
  try {
    throw;
  } catch (const Error& error) {
    return error;
  } catch (const std::bad_alloc&) {
    return Error(ErrorKind::OutOfMemory, "the machine has no memory left",
                 "try a smaller --batch-size or --image-size");
  } catch (const std::system_error& error) {
    return Error(ErrorKind::OutOfMemory,
                 fmt::format("the system refuses what is needed: {}", error.code().message()),
                 "see the limits of processes and memory: ulimit -u, ulimit -v");
  } catch (const std::exception& error) {
    return Error(ErrorKind::Internal, fmt::format("a bug in pounce: {}", error.what()),
                 "please report it with the command you ran");
  }
}

}  // namespace

int run_command_line(std::span<const std::string> words, const BeforeWork& before_work) {
  // A reader that goes away must show as a failed write, not end the process.
  signal(SIGPIPE, SIG_IGN);
  // So must a file that grows beyond the limit of `ulimit -f`.
  signal(SIGXFSZ, SIG_IGN);
  OutputSettings settings = settings_for_errors(words);
  Output output(settings);
  try {
    return dispatch(words, output, before_work);
  } catch (const BrokenPipe&) {
    return kDone;
  } catch (...) {
    return report(current_error(), output, settings.json);
  }
}

}  // namespace pounce::cli
