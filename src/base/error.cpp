#include "base/error.h"

#include <string_view>

namespace pounce {

const char* error_kind_name(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::InvalidArgument:
      return "invalid_argument";
    case ErrorKind::Config:
      return "config";
    case ErrorKind::Io:
      return "io";
    case ErrorKind::BadData:
      return "bad_data";
    case ErrorKind::OutOfMemory:
      return "out_of_memory";
    case ErrorKind::Device:
      return "device";
    case ErrorKind::Unsupported:
      return "unsupported";
    case ErrorKind::Diverged:
      return "diverged";
    case ErrorKind::Interrupted:
      return "interrupted";
    case ErrorKind::Internal:
      return "internal";
  }
  return "internal";
}

Error::Error(ErrorKind kind, std::string message, std::string hint)
    : kind_(kind), message_(std::move(message)), hint_(std::move(hint)) {
  compose();
}

Error& Error::add_context(std::string line) {
  context_.push_back(std::move(line));
  compose();
  return *this;
}

void Error::compose() {
  text_ = message_;
  for (const std::string& line : context_) text_ += "\n" + line;
  if (!hint_.empty()) text_ += "\n" + hint_;
}

void fail_assertion(const char* condition, const char* file, int line) {
  std::string_view path = file;
  if (auto at = path.rfind("src/"); at != std::string_view::npos) path.remove_prefix(at);
  throw Error(ErrorKind::Internal,
              fmt::format("a bug in pounce: {}:{}: expected {}", path, line, condition),
              "please report it with the command you ran");
}

}  // namespace pounce
