#include "base/checksum.h"

#include <xxhash.h>

namespace pounce {

uint64_t xxh3_64(std::span<const uint8_t> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

uint64_t xxh3_64(std::string_view text) {
  return XXH3_64bits(text.data(), text.size());
}

}  // namespace pounce
