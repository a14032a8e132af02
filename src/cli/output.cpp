#include "cli/output.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/system.h"
#include "base/text.h"

namespace pounce::cli {
namespace {

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

bool wants_color(ColorMode mode) {
  switch (mode) {
    case ColorMode::Always:
      return true;
    case ColorMode::Never:
      return false;
    case ColorMode::Auto:
      break;
  }
  return environment("NO_COLOR").empty() && can_redraw();
}

// Hints may have several lines.
std::string printable_lines(std::string_view text) {
  std::string result;
  while (true) {
    size_t end = std::min(text.find('\n'), text.size());
    result += printable(text.substr(0, end));
    if (end == text.size()) return result;
    result += '\n';
    text.remove_prefix(end + 1);
  }
}

constexpr std::string_view kEraseLine = "\r\x1b[K";

}  // namespace

bool can_redraw() {
  return is_terminal(kStderr) && environment("TERM") != "dumb";
}

Output::Output(bool has_color, Write write) : has_color_(has_color), write_(std::move(write)) {}

Output::Output(const OutputSettings& settings)
    : Output(wants_color(settings.color),
             [](int descriptor, std::string_view text) { return write_all(descriptor, text); }) {}

Output::~Output() {
  clear_progress();
}

std::string Output::erasure() {
  return std::exchange(has_progress_, false) ? std::string(kEraseLine) : "";
}

void Output::result(std::string_view line) {
  std::lock_guard lock(mutex_);
  if (std::string erase = erasure(); !erase.empty()) write_(kStderr, erase);
  if (write_(kStdout, std::string(line) + '\n')) return;
  if (errno == EPIPE) throw BrokenPipe();
  fail(ErrorKind::Io, "cannot write to standard output: {}", os_error_text(errno));
}

void Output::message(std::string_view line) {
  finished_text(printable(line));
}

void Output::message(Style style, std::string_view line) {
  finished_text(paint(style, printable(line)));
}

void Output::message(Style style, std::string_view label, std::string_view line) {
  finished_text(fmt::format("{} {}", paint(style, label), printable(line)));
}

void Output::finished_text(std::string_view text) {
  std::lock_guard lock(mutex_);
  // One write, so that lines of several processes do not mix.
  write_(kStderr, erasure().append(text) + '\n');
}

void Output::progress(std::string_view line) {
  std::lock_guard lock(mutex_);
  has_progress_ = true;
  write_(kStderr, std::string(kEraseLine).append(line));
}

void Output::clear_progress() {
  std::lock_guard lock(mutex_);
  if (std::string erase = erasure(); !erase.empty()) write_(kStderr, erase);
}

std::string Output::paint(Style style, std::string_view text) const {
  if (!has_color_) return std::string(text);
  const char* code = "";
  switch (style) {
    case Style::Plain:
      return std::string(text);
    case Style::Error:
      code = "1;31";
      break;
    case Style::Warning:
      code = "33";
      break;
    case Style::Note:
      code = "36";
      break;
    case Style::Strong:
      code = "1";
      break;
  }
  return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

void print_error(Output& output, const Error& error) {
  std::string text = fmt::format("pounce: {} {}", output.paint(Style::Error, "error:"),
                                 printable(error.message()));
  for (const std::string& line : error.context()) text += "\n  " + printable(line);
  if (!error.hint().empty()) {
    text +=
        fmt::format("\n{} {}", output.paint(Style::Note, "hint:"), printable_lines(error.hint()));
  }
  output.finished_text(text);
}

}  // namespace pounce::cli
