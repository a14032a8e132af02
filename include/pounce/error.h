// The one error type of Pounce: what was found, what was expected and what to do about it.
// The library reports by throwing pounce::Error; it never prints, exits or aborts.
#pragma once

#include <exception>
#include <string>
#include <vector>

#include "pounce/export.h"

namespace pounce {

enum class ErrorKind {
  InvalidArgument,  // a caller of the library broke a documented condition
  Config,           // flags, config file or folder layout; nothing was started
  Io,               // the operating system refused: rights, full disk, missing file
  BadData,          // a file's content is not what it has to be
  OutOfMemory,      // the plan does not fit
  Device,           // a device is missing or failed
  Unsupported,      // a correct request that this build or device cannot serve
  Diverged,         // training produced non-finite numbers
  Interrupted,      // a stop was requested
  Internal,         // a bug in Pounce
};

// "config", "io", ...: the words of the JSON `error` object.
POUNCE_API const char* error_kind_name(ErrorKind kind);

class POUNCE_API Error : public std::exception {
 public:
  // `message`: what was found and what was expected. `hint`: what to do; may be empty.
  Error(ErrorKind kind, std::string message, std::string hint = "");

  ErrorKind kind() const { return kind_; }
  const std::string& message() const { return message_; }
  const std::string& hint() const { return hint_; }
  // Outermost last, e.g. "while building layer3.0.conv1".
  const std::vector<std::string>& context() const { return context_; }

  Error& add_context(std::string line);

  // message, context lines and hint, separated by line feeds.
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  void compose();

  ErrorKind kind_;
  std::string message_;
  std::string hint_;
  std::vector<std::string> context_;
  std::string text_;
};

}  // namespace pounce
