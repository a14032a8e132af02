// What the fuzzers call: one entry a decoder, each taking the bytes of a file from anywhere. An
// entry returns whatever the bytes are; a crash, a leak, a sanitizer's report or an exception is a
// finding. libFuzzer drives them (libfuzzer.cpp), and the kept corpus as a test (corpus.cpp).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace pounce::fuzz {

struct Target {
  std::string_view name;
  void (*run)(std::span<const uint8_t> bytes);
};

std::span<const Target> targets();
// Aborts where there is none of that name.
const Target& find_target(std::string_view name);

}  // namespace pounce::fuzz
