// What a Device is a handle of.
#pragma once

#include <string>

#include "api/access.h"
#include "pounce/device.h"
#include "train/device.h"

namespace pounce {

struct DeviceState {
  std::string name;
  OpenDevice open;

  Backend& backend() { return *open.backend; }
};

}  // namespace pounce
