// How long a data set takes to be found and shuffled, and what it occupies.
//   bench_scan DIR [CACHE]       scans DIR, with its index in the folder CACHE
//   bench_scan --synthetic N CACHE   writes an index of N images, loads it and orders an epoch
#include <cstdio>
#include <cstdlib>
#include <string>

#include <fmt/format.h>

#include "base/checksum.h"
#include "base/error.h"
#include "base/system.h"
#include "data/dataset.h"
#include "data/order.h"
#include "data/scan_index.h"

namespace pounce {
namespace {

constexpr int64_t kFilesInAFolder = 10'000;

class Timer {
 public:
  // Seconds since the last call.
  double lap() {
    double now = monotonic_seconds(), passed = now - start_;
    start_ = now;
    return passed;
  }

 private:
  double start_ = monotonic_seconds();
};

void print_order(const SampleList& list) {
  Timer timer;
  std::vector<uint32_t> order = epoch_order(list, 0, 1);
  uint64_t sum = xxh3_64({reinterpret_cast<const uint8_t*>(order.data()), order.size() * 4});
  fmt::print("epoch ordered in {:.2f} s (order {:016x})\n", timer.lap(), sum);
}

void print_memory(const SampleList& list) {
  fmt::print("list {:.1f} bytes an image, process {} MB, at most {} MB\n",
             double(list.memory_bytes()) / double(list.size()), resident_bytes() >> 20,
             peak_resident_bytes() >> 20);
}

void scan(const std::string& folder, const std::string& cache) {
  Timer timer;
  ImageFolder found = scan_dataset({.root = folder, .on_bad = OnBad::Skip, .cache_folder = cache});
  size_t images = found.train.size() + found.val.size() + found.test.size();
  fmt::print("{} images in {:.3f} s\n", images, timer.lap());
  print_memory(found.train);
  print_order(found.train);
}

std::string folder_name(int64_t index) {
  return fmt::format("class_{:04d}/", index);
}

void write_index(int64_t images, const std::string& cache, const std::string& root) {
  ScanIndex index(cache, root);
  for (int64_t first = 0; first < images; first += kFilesInAFolder) {
    int64_t end = std::min(images, first + kFilesInAFolder);
    std::vector<std::string> names;
    for (int64_t i = first; i < end; ++i) names.push_back(fmt::format("IMG_{:09d}.jpg", i));
    IndexEntries entries;
    for (size_t i = 0; i < names.size(); ++i) {
      IndexEntry entry{{100'000 + i, i, 1, 1}, 640, int32_t(i % 480 + 1), ImageFormat::Jpeg,
                       IndexVerdict::Usable,   {}};
      entries.emplace_back(names[i], entry);
    }
    index.put(folder_name(first / kFilesInAFolder), {}, entries);
  }
}

SampleList load_index(int64_t images, const std::string& cache, const std::string& root) {
  ScanIndex index(cache, root);
  SampleList list;
  for (int64_t first = 0; first < images; first += kFilesInAFolder) {
    int64_t label = first / kFilesInAFolder;
    std::string folder = folder_name(label);
    std::shared_ptr<const IndexBlock> block = index.find(folder);
    if (!block) fail(ErrorKind::BadData, "{} is not in the index", folder);
    size_t hint = 0;
    for (size_t i = 0; i < block->size(); ++i) {
      std::string path = folder + std::string(block->name(i));
      IndexEntry entry = block->find(block->name(i), hint).value();
      list.push_back({path, int32_t(label), xxh3_64(path), entry.width, entry.height});
    }
  }
  return list;
}

void run_synthetic(int64_t images, const std::string& cache) {
  std::string root = "/synthetic";
  Timer timer;
  write_index(images, cache, root);
  fmt::print("{} images written in {:.2f} s\n", images, timer.lap());
  SampleList list = load_index(images, cache, root);
  if (list.size() != size_t(images)) fail(ErrorKind::BadData, "{} were loaded", list.size());
  fmt::print("loaded in {:.2f} s\n", timer.lap());
  print_memory(list);
  print_order(list);
  print_memory(list);
}

}  // namespace
}  // namespace pounce

int main(int count, char** words) {
  std::string first = count > 1 ? words[1] : "";
  try {
    if (first == "--synthetic" && count == 4) {
      pounce::run_synthetic(std::atoll(words[2]), words[3]);
    } else if (count == 2 || count == 3) {
      pounce::scan(first, count == 3 ? words[2] : "");
    } else {
      std::fputs("bench_scan DIR [CACHE] | --synthetic N CACHE\n", stderr);
      return 2;
    }
  } catch (const pounce::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
