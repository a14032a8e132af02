// Runs something that must throw pounce::Error and hands the error back for closer looks.
#pragma once

#include <gtest/gtest.h>

#include "pounce/error.h"

namespace pounce::cli {

template <typename Action>
Error error_of(Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "expected an error";
  return Error(ErrorKind::Internal, "");
}

}  // namespace pounce::cli
