// The backends this build holds, by name.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "backend/backend.h"

namespace pounce {

struct BackendOptions {
  int threads = 0;  // 0: as many as this process may use
};

// "reference", "cpu". Throws Unsupported naming those there are for another name.
std::unique_ptr<Backend> make_backend(std::string_view name, const BackendOptions& options = {});
std::vector<std::string_view> backend_names();

}  // namespace pounce
