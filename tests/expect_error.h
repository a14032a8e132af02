// EXPECT_ERROR(statement, kind, part, ...): the statement throws an Error of that kind whose text
// holds every part.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pounce/error.h"

namespace pounce {

inline testing::AssertionResult throws_error(const std::function<void()>& action, ErrorKind kind,
                                             const std::vector<std::string>& parts) {
  try {
    action();
  } catch (const Error& error) {
    std::string text = error.what();
    if (error.kind() != kind) {
      return testing::AssertionFailure() << "kind " << error_kind_name(error.kind())
                                         << ", expected " << error_kind_name(kind) << ": " << text;
    }
    for (const std::string& part : parts) {
      if (text.find(part) == std::string::npos) {
        return testing::AssertionFailure() << "\"" << part << "\" is not in: " << text;
      }
    }
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure() << "nothing was thrown";
}

}  // namespace pounce

#define EXPECT_ERROR(statement, kind, ...) \
  EXPECT_TRUE(::pounce::throws_error([&] { statement; }, kind, {__VA_ARGS__}))
