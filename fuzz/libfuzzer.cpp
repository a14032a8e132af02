// libFuzzer's entry, one program a target: POUNCE_FUZZ_TARGET names it.
#include <cstddef>

#include "targets.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const pounce::fuzz::Target& target = pounce::fuzz::find_target(POUNCE_FUZZ_TARGET);
  target.run({data, size});
  return 0;
}
