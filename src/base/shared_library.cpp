#include "base/shared_library.h"

#include <utility>

#include <dlfcn.h>

namespace pounce {

Result<SharedLibrary> SharedLibrary::open(const std::string& soname) {
  void* handle = dlopen(soname.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle == nullptr) {
    const char* reason = dlerror();
    return tl::make_unexpected(
        Error(ErrorKind::Unsupported, reason ? reason : soname + " cannot be loaded"));
  }
  return SharedLibrary(handle);
}

SharedLibrary::SharedLibrary(SharedLibrary&& other) noexcept
    : handle_(std::exchange(other.handle_, nullptr)) {}

SharedLibrary& SharedLibrary::operator=(SharedLibrary&& other) noexcept {
  std::swap(handle_, other.handle_);
  return *this;
}

SharedLibrary::~SharedLibrary() {
  if (handle_ != nullptr) dlclose(handle_);
}

void* SharedLibrary::address(const char* name) const {
  return dlsym(handle_, name);
}

}  // namespace pounce
