// Compiled GPU programs on disk, so that only the first run on a machine waits for the compiler.
// Files of Pounce's cache folder (base/cache_folder.h): for this user alone, written beside and
// renamed. Whatever is wrong with a file, or with the folder, it counts as not there.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pounce {

// Everything that a compiled program depends on, beside Pounce's version.
struct ProgramKey {
  std::string text;     // what was compiled
  std::string options;  // of the compiler
  std::string device;   // its name and platform
  std::string driver;   // version
};

class ProgramCache {
 public:
  // The most bytes its files may take together; the longest unused go first.
  static constexpr uint64_t kDefaultLimit = uint64_t{256} << 20;

  // An empty folder: keeps nothing.
  explicit ProgramCache(std::string folder, uint64_t limit_bytes = kDefaultLimit);

  std::optional<std::vector<uint8_t>> load(const ProgramKey& key) const;
  void store(const ProgramKey& key, std::span<const uint8_t> binary) const;

 private:
  void trim() const;

  std::string folder_;
  uint64_t limit_bytes_;
};

}  // namespace pounce
