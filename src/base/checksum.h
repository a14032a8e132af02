// XXH3, 64 bits: identity of images and shards. Stable across versions and machines.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace pounce {

uint64_t xxh3_64(std::span<const uint8_t> bytes);
uint64_t xxh3_64(std::string_view text);

}  // namespace pounce
