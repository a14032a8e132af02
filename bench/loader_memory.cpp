// Whether a loader's memory grows: reads many links to few photos for several epochs and prints
// what the process occupies after each. usage: bench_loader_memory FOLDER [IMAGES [THREADS
// [EPOCHS]]]    FOLDER: photos, at any depth. Defaults: 100000 images, 16 threads, 3 epochs. Exit 1
// when the memory after the last epoch is more than 2 % away from that after the first.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "base/checksum.h"
#include "base/error.h"
#include "base/file.h"
#include "base/system.h"
#include "data/dataset.h"
#include "data/loader.h"

namespace {

using namespace pounce;
namespace fs = std::filesystem;

constexpr int kImageSize = 224, kLinksAFolder = 1000;
constexpr double kTolerance = 0.02;

// A folder that is removed with all its links.
class LinkFolder {
 public:
  LinkFolder() {
    std::string pattern = (fs::temp_directory_path() / "pounce-links-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) fail(ErrorKind::Io, "cannot make {}", pattern);
    path_ = pattern;
  }
  LinkFolder(const LinkFolder&) = delete;
  LinkFolder& operator=(const LinkFolder&) = delete;
  ~LinkFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

SampleList link_photos(const std::string& folder, const LinkFolder& links, int images) {
  std::vector<std::string> photos = find_image_files(folder);
  if (photos.empty()) fail(ErrorKind::Config, "{}: there are no photos", folder);
  SampleList samples;
  for (int i = 0; i < images; ++i) {
    std::string part = "c" + std::to_string(i / kLinksAFolder);
    const std::string& photo = photos[size_t(i) % photos.size()];
    std::string path = part + "/" + std::to_string(i) + "." + file_extension(photo);
    if (i % kLinksAFolder == 0) make_directories(links.path() + "/" + part);
    fs::create_symlink(fs::absolute(photo), links.path() + "/" + path);
    samples.push_back({.path = path, .label = i / kLinksAFolder, .id = xxh3_64(path)});
  }
  return samples;
}

void read_epoch(BatchLoader& loader, uint32_t epoch) {
  loader.start_epoch(epoch);
  while (std::optional<ImageBatch> batch = loader.next()) loader.recycle(std::move(*batch));
}

double resident_mb() {
  return double(resident_bytes()) / (1 << 20);
}

int run(const std::string& folder, int images, int threads, int epochs) {
  LinkFolder links;
  SampleList samples = link_photos(folder, links, images);
  std::printf("%d images, %d threads: %.1f MB before, the list %.1f MB\n", images, threads,
              resident_mb(), double(samples.memory_bytes()) / (1 << 20));
  BatchLoaderOptions options{
      .root = links.path(), .preprocessing = {.image_size = kImageSize}, .workers = threads};
  BatchLoader loader(options, samples);
  double first = 0, last = 0;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    double start = monotonic_seconds();
    read_epoch(loader, uint32_t(epoch));
    last = resident_mb();
    if (epoch == 0) first = last;
    std::printf("epoch %d: %.1f MB (peak %.1f), %.0f s\n", epoch + 1, last,
                double(peak_resident_bytes()) / (1 << 20), monotonic_seconds() - start);
    std::fflush(stdout);
  }
  bool is_level = std::abs(last - first) <= kTolerance * first;
  std::printf("%+.2f %% from the first to the last epoch%s\n", 100 * (last - first) / first,
              is_level ? "" : ": too much");
  return is_level ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  auto number = [&](int index, int otherwise) {
    return argc > index ? std::atoi(argv[index]) : otherwise;
  };
  if (argc < 2) {
    std::fputs("usage: bench_loader_memory FOLDER [IMAGES [THREADS [EPOCHS]]]\n", stderr);
    return 2;
  }
  try {
    return run(argv[1], number(2, 100'000), number(3, 16), number(4, 3));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
