// The folders that cases/make_cases.py of the test data writes: made once a test program, kept
// until it ends.
#pragma once

#include <cstdlib>
#include <string>

#include "base/temp_dir.h"

namespace pounce::test {

inline std::string environment(const char* name, const char* fallback) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != 0 ? value : fallback;
}

struct Cases {
  TempDir folder;
  std::string problem;  // why they could not be made; empty when they were

  Cases() {
    std::string data = environment("POUNCE_TEST_DATA", "");
    if (data.empty()) {
      problem = "POUNCE_TEST_DATA is not set";
      return;
    }
    std::string command = environment("POUNCE_PYTHON", "python3") + " '" + data +
                          "/cases/make_cases.py' '" + folder.path() + "' > /dev/null 2>&1";
    if (std::system(command.c_str()) != 0) {
      problem = "make_cases.py failed; POUNCE_PYTHON must name a Python with Pillow and NumPy";
    }
  }
};

inline const Cases& cases() {
  static const Cases made;
  return made;
}

}  // namespace pounce::test
