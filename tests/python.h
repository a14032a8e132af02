// Tests that exchange files with Python's safetensors package; skipped, visibly, where
// POUNCE_PYTHON names no Python that has it.
#pragma once

#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include "base/temp_dir.h"

namespace pounce::test {

// Runs $POUNCE_PYTHON on a script; false where it ended with an error.
inline bool run_python(const std::string& script) {
  std::string command =
      std::string("\"") + std::getenv("POUNCE_PYTHON") + "\" \"" + script + "\" 2>&1";
  return std::system(command.c_str()) == 0;
}

class PythonSafetensors : public testing::Test {
 protected:
  void SetUp() override {
    if (std::getenv("POUNCE_PYTHON") == nullptr) {
      GTEST_SKIP() << "POUNCE_PYTHON names no Python with safetensors and numpy";
    }
    if (!run("import safetensors.numpy\n")) {
      GTEST_SKIP() << "POUNCE_PYTHON has no safetensors and numpy";
    }
  }

  bool run(const std::string& code) {
    return run_python(folder_.put("script.py", "folder = r'" + folder_.path() + "'\n" + code));
  }

  TempDir folder_;
};

}  // namespace pounce::test
