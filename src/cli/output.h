// Where a command's words go: results to standard output, messages and progress to standard error.
// Keeps a progress line, which is erased before anything else is printed. Safe to call from several
// threads.
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <string_view>

#include "cli/flag_table.h"
#include "pounce/error.h"

namespace pounce::cli {

// The reader of standard output has gone: a reason to stop, not an error.
struct BrokenPipe {};

enum class Style { Plain, Error, Warning, Note, Strong };

class Output {
 public:
  // Writes all of `text` to a file descriptor; false on failure, with the reason in errno.
  using Write = std::function<bool(int descriptor, std::string_view text)>;

  // `has_color`: of standard error.
  Output(bool has_color, Write write);
  // Asks the terminal and the environment (NO_COLOR, TERM).
  explicit Output(const OutputSettings& settings);
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  // Erases the progress line.
  ~Output();

  // A line of standard output. Throws BrokenPipe, or Io when it cannot be written.
  void result(std::string_view line);
  // A line of standard error; one that cannot be written is lost. Names in it may come from
  // anywhere: it is made printable().
  void message(std::string_view line);
  // The same in colour.
  void message(Style style, std::string_view line);
  // The same after a label in colour, as "warning:".
  void message(Style style, std::string_view label, std::string_view line);
  // Lines of standard error as they are. Whatever comes from elsewhere has gone through
  // printable().
  void finished_text(std::string_view text);
  // Replaces the progress line; `line` must fit into the terminal.
  void progress(std::string_view line);
  void clear_progress();

  std::string paint(Style style, std::string_view text) const;

 private:
  std::string erasure();

  bool has_color_;
  Write write_;
  std::mutex mutex_;
  bool has_progress_ = false;
};

// "pounce: error: ...", context lines and the hint, each on its line.
void print_error(Output& output, const Error& error);

// Whether standard error is a terminal that can redraw a line.
bool can_redraw();

}  // namespace pounce::cli
