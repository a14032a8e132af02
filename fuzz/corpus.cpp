// Runs every file of the corpus through its target, without libFuzzer, and each one again cut at
// some lengths. usage: fuzz_corpus CORPUS, whose folders are named as the targets
#include <cstdio>

#include "base/file.h"
#include "targets.h"

namespace pounce::fuzz {
namespace {

void run_with_cuts(const Target& target, std::span<const uint8_t> bytes) {
  constexpr size_t kCuts = 16;
  target.run(bytes);
  for (size_t i = 0; i < kCuts; ++i) target.run(bytes.first(bytes.size() * i / kCuts));
}

// The number of files.
int run_folder(const Target& target, const std::string& folder) {
  Result<std::vector<DirectoryEntry>> entries = list_directory(folder);
  if (!entries) throw entries.error();
  int files = 0;
  for (const DirectoryEntry& entry : *entries) {
    if (entry.kind != EntryKind::File) continue;
    Result<std::vector<uint8_t>> bytes = read_file(join_path(folder, entry.name));
    if (!bytes) throw bytes.error();
    std::printf("%s/%s\n", std::string(target.name).c_str(), entry.name.c_str());
    run_with_cuts(target, *bytes);
    ++files;
  }
  return files;
}

int run_corpus(const std::string& corpus) {
  for (const Target& target : targets()) {
    if (run_folder(target, join_path(corpus, target.name)) == 0) {
      std::fprintf(stderr, "no corpus for the target %s\n", std::string(target.name).c_str());
      return 1;
    }
  }
  return 0;
}

}  // namespace
}  // namespace pounce::fuzz

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s CORPUS\n", argv[0]);
    return 2;
  }
  return pounce::fuzz::run_corpus(argv[1]);
}
