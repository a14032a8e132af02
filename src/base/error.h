// How the library itself raises errors: fail() throws, Result carries what is expected to fail,
// POUNCE_ASSERT guards against bugs.
#pragma once

#include <string>
#include <utility>

#include <fmt/format.h>
#include <tl/expected.hpp>

#include "pounce/error.h"

namespace pounce {

// For failures that are normal in use, such as a damaged image.
template <typename T>
using Result = tl::expected<T, Error>;

template <typename... Args>
[[noreturn]] void fail(ErrorKind kind, fmt::format_string<Args...> format, Args&&... args) {
  throw Error(kind, fmt::format(format, std::forward<Args>(args)...));
}

// The same with a hint: what the reader can do.
template <typename... Args>
[[noreturn]] void fail_with_hint(ErrorKind kind, std::string hint,
                                 fmt::format_string<Args...> format, Args&&... args) {
  throw Error(kind, fmt::format(format, std::forward<Args>(args)...), std::move(hint));
}

[[noreturn]] void fail_assertion(const char* condition, const char* file, int line);

}  // namespace pounce

// A condition only a bug in Pounce can break; holds in release builds too.
#define POUNCE_ASSERT(condition) \
  ((condition) ? (void)0 : ::pounce::fail_assertion(#condition, __FILE__, __LINE__))
