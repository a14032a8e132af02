// Reading a file of weights, for whoever asks: other forms that people take for one are named, with
// what to type, and every complaint names the file.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace pounce {

struct WeightsSource {
  std::string path;
  std::string label = {};  // before the path in errors: "--init "
  std::string hint = {};   // of errors that have none
};

// Calls `use` with the bytes of the file. Throws Io where it cannot be read; Config where `use`
// throws BadData and the file is a PyTorch file, a picture or a web page; and what `use` throws,
// BadData with the path in front.
void read_weights_file(const WeightsSource& source,
                       const std::function<void(std::span<const uint8_t> bytes)>& use);

}  // namespace pounce
