#include "cli/command_line.h"

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <new>

#include <signal.h>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/foreign_words.h"
#include "cli/help.h"
#include "cli/json_events.h"
#include "cli/parse.h"

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

void print_version(Output& output) {
  output.result("pounce " POUNCE_VERSION);
}

int run_command(const Command& command, const Settings& settings) {
  Output output(settings.output);
  // Every line that predict printed is complete; it may be waiting for paths, and saves nothing.
  bool can_end_at_once = command.name == "predict";
  SignalStop stop([&output, can_end_at_once](int signal) {
    if (can_end_at_once) std::_Exit(128 + signal);
    output.message("stopping after the current step; once more to stop at once");
  });
  Session session{settings, output, stop};
  try {
    if (command.name == "train") return run_train(session);
    if (command.name == "eval") return run_eval(session);
    POUNCE_ASSERT(command.name == "predict");
    return run_predict(session);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::Interrupted || !stop.was_requested()) throw;
    return stop.exit_code();
  }
}

int run_parsed(const Command& command, std::span<const std::string> words, Output& output) {
  Invocation invocation = parse_arguments(command, words);
  switch (invocation.action) {
    case FlagAction::Set:
      return run_command(command, invocation.settings);
    case FlagAction::ShortHelp:
      print_text(output, short_help(command));
      break;
    case FlagAction::FullHelp:
      print_text(output, full_help(command));
      break;
    case FlagAction::Version:
      print_version(output);
      break;
  }
  return kDone;
}

int run_help(std::span<const std::string> words, Output& output) {
  if (words.empty()) {
    print_text(output, program_help());
    return kDone;
  }
  const Command* command = find_command(words[0]);
  if (!command) fail_unknown_command(words[0]);
  print_text(output, full_help(*command));
  return kDone;
}

int dispatch(std::span<const std::string> words, Output& output) {
  if (words.empty()) {
    std::string help = program_help();
    help.pop_back();
    output.message(help);
    return kWrongUsage;
  }
  const std::string& first = words[0];
  std::span<const std::string> rest = words.subspan(1);
  if (first == "-h" || first == "--help") return run_help({}, output);
  if (first == "help") return run_help(rest, output);
  if (first == "-V" || first == "--version") return print_version(output), kDone;
  if (first == "--help-markdown") return print_text(output, markdown_help()), kDone;
  if (first.starts_with('-')) {
    fail_with_hint(ErrorKind::Config, "pounce -h lists the commands",
                   "expected a command before the flag {}", first);
  }
  const Command* command = find_command(first);
  if (!command) fail_unknown_command(first);
  return run_parsed(*command, rest, output);
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
    output.result(error_json(error));
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
  } catch (const std::exception& error) {
    return Error(ErrorKind::Internal, fmt::format("a bug in pounce: {}", error.what()),
                 "please report it with the command you ran");
  }
}

}  // namespace

int run_command_line(std::span<const std::string> words) {
  // A reader that goes away must show as a failed write, not end the process.
  signal(SIGPIPE, SIG_IGN);
  OutputSettings settings = settings_for_errors(words);
  Output output(settings);
  try {
    return dispatch(words, output);
  } catch (const BrokenPipe&) {
    return kDone;
  } catch (...) {
    return report(current_error(), output, settings.json);
  }
}

}  // namespace pounce::cli
