// A library that is opened while the program runs: one that most runs never need, so that the
// program starts without it, and on machines that lack it.
#pragma once

#include <string>

#include "base/error.h"

namespace pounce {

// Move-only. The library stays in memory after its owner is gone: some have threads and
// thread-local data that outlive a close.
class SharedLibrary {
 public:
  // By SONAME ("libtiff.so.6"), found as the system's loader finds libraries. Error kind
  // Unsupported, with the loader's words, when it is absent or cannot be loaded.
  static Result<SharedLibrary> open(const std::string& soname);
  SharedLibrary(SharedLibrary&& other) noexcept;
  SharedLibrary& operator=(SharedLibrary&& other) noexcept;
  SharedLibrary(const SharedLibrary&) = delete;
  SharedLibrary& operator=(const SharedLibrary&) = delete;
  ~SharedLibrary();

  // Sets `function`, a pointer to a function of the type its header declares. False when the
  // library has none of that name.
  template <typename Function>
  bool find(const char* name, Function*& function) const {
    function = reinterpret_cast<Function*>(address(name));
    return function != nullptr;
  }

 private:
  explicit SharedLibrary(void* handle) : handle_(handle) {}
  void* address(const char* name) const;

  void* handle_ = nullptr;
};

}  // namespace pounce
