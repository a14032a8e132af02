// What the loader gives does not depend on the cache behind it.
#include <algorithm>
#include <filesystem>

#include <gtest/gtest.h>

#include "base/checksum.h"
#include "base/error.h"
#include "data/disk_cache.h"
#include "data/fixtures.h"
#include "data/loader.h"
#include "data/ram_cache.h"

namespace pounce {
namespace {

using namespace test;

constexpr int kImages = 48;
constexpr uint64_t kPlenty = uint64_t{1} << 30;

class LoaderCacheTest : public testing::Test {
 protected:
  void SetUp() override {
    for (int i = 0; i < kImages; ++i) put(i, 0);
  }

  // JPEGs, some turned by EXIF or progressive, and PNGs; every one another picture.
  void put(int i, int edition) {
    Image image = pattern_image(24 + i % 13, 20 + i % 7);
    for (uint8_t& value : image.rgb) value = uint8_t(value + i * 3 + edition * 50);
    JpegOptions jpeg{.progressive = i % 5 == 0, .subsampled = i % 3 == 0, .orientation = i % 9};
    put_bytes(i, i % 4 == 3 ? encode_png(image) : encode_jpeg(image, jpeg));
  }

  void put_bytes(int i, const Bytes& bytes) {
    std::string path = "cat/" + std::to_string(i) + ".jpg";
    dir_.put(path, bytes);
    if (size_t(i) == samples_.size()) {
      samples_.push_back({path, i % 3, xxh3_64(path), 24 + i % 13, 20 + i % 7});
    }
  }

  // The header stays, the body is noise.
  void damage(int i) {
    Bytes bytes = encode_jpeg(pattern_image(64, 64));
    std::fill(bytes.begin() + int64_t(bytes.size() / 2), bytes.end() - 2, uint8_t{0x55});
    put_bytes(i, bytes);
  }

  std::vector<CacheCandidate> candidates(bool with_pixels) const {
    std::vector<CacheCandidate> list;
    for (const Sample& sample : samples_) {
      uint64_t bytes = stat_file(dir_ / sample.path)->size;
      Preprocessing rule{.shrink = shrink_};
      PictureSize kept = shrunk_size(sample.width, sample.height, rule);
      list.push_back({sample.id, kept.width, kept.height, bytes, with_pixels, shrink_ == 0});
    }
    return list;
  }

  std::shared_ptr<RamCache> ram(bool with_pixels, uint64_t limit = kPlenty) const {
    return std::make_shared<RamCache>(forecast_cache(candidates(with_pixels), limit), limit);
  }

  std::shared_ptr<DiskCache> disk(bool with_pixels) const {
    return std::move(DiskCache::open({.folder = dir_ / "cache",
                                      .root = dir_.path(),
                                      .rule = with_pixels ? "pixels" : "",
                                      .limit = kPlenty,
                                      .candidates = candidates(with_pixels)})
                         .value());
  }

  // The files keep size and time, so what is in them now is not looked at.
  void blank_files() const {
    for (const Sample& sample : samples_) {
      std::string path = dir_ / sample.path;
      auto time = std::filesystem::last_write_time(path);
      dir_.put(sample.path, Bytes(stat_file(path)->size, 0));
      std::filesystem::last_write_time(path, time);
    }
  }

  // All bytes, labels, places and holes of two epochs.
  uint64_t checksum(std::shared_ptr<ImageCache> cache, int workers = 3) const {
    BatchLoaderOptions options;
    options.root = dir_.path();
    options.batch_size = 7;
    options.preprocessing.image_size = 16;
    options.preprocessing.shrink = shrink_;
    options.seed = 11;
    options.workers = workers;
    options.cache = std::move(cache);
    BatchLoader loader(options, samples_);
    std::string all;
    for (uint32_t epoch : {0U, 1U}) {
      loader.start_epoch(epoch);
      while (auto batch = loader.next()) {
        all.append(batch->images.begin(), batch->images.end());
        for (uint32_t index : batch->indices) all += fmt::format(" {}", index);
        for (int32_t label : batch->labels) all += fmt::format(" {}", label);
        for (const SkippedFile& hole : batch->holes) all += hole.path + hole.reason;
      }
    }
    return xxh3_64(all);
  }

  TempDir dir_;
  SampleList samples_;
  int shrink_ = 0;
};

TEST_F(LoaderCacheTest, BytesAreThoseWithoutACacheColdAndWarm) {
  uint64_t expected = checksum(nullptr, 1);
  for (bool with_pixels : {false, true}) {
    for (int workers : {1, 2, 7, 16}) {
      auto memory = ram(with_pixels);
      EXPECT_EQ(checksum(memory, workers), expected);
      EXPECT_EQ(memory->images(), kImages);
      EXPECT_EQ(checksum(memory, workers), expected);
      std::filesystem::remove_all(dir_ / "cache");
      EXPECT_EQ(checksum(disk(with_pixels), workers), expected);
      auto warm = disk(with_pixels);
      EXPECT_EQ(warm->held_images(), kImages);
      EXPECT_EQ(checksum(warm, workers), expected);
    }
  }
}

TEST_F(LoaderCacheTest, WarmImagesComeFromTheCache) {
  auto memory = ram(true);
  uint64_t expected = checksum(memory);
  blank_files();
  EXPECT_EQ(checksum(memory), expected);
  EXPECT_NE(checksum(nullptr), expected);
}

TEST_F(LoaderCacheTest, ALimitHoldsAPartAndChangesNothing) {
  uint64_t expected = checksum(nullptr);
  auto memory = ram(true, 30'000);
  EXPECT_EQ(checksum(memory), expected);
  EXPECT_EQ(checksum(memory), expected);
  EXPECT_GT(memory->images(), 5);
  EXPECT_LE(memory->bytes(), 30'000U);
}

TEST_F(LoaderCacheTest, ChangedAndRemovedFilesAreSeen) {
  auto memory = ram(true);
  std::shared_ptr<ImageCache> on_disk = disk(true);
  checksum(memory);
  checksum(on_disk);
  for (int i = 0; i < 10; ++i) put(i, 1);
  std::filesystem::remove(dir_ / samples_.path(20));
  uint64_t expected = checksum(nullptr);
  for (int pass = 0; pass < 2; ++pass) {
    EXPECT_EQ(checksum(memory), expected);
    EXPECT_EQ(checksum(on_disk), expected);
  }
  on_disk.reset();
  EXPECT_EQ(checksum(disk(true)), expected);
}

TEST_F(LoaderCacheTest, DamagedFilesLeaveTheSameHoles) {
  for (int i : {2, 17, 30}) damage(i);
  uint64_t expected = checksum(nullptr);
  auto memory = ram(true);
  EXPECT_EQ(checksum(memory), expected);
  EXPECT_EQ(memory->images(), kImages - 3);
  EXPECT_EQ(checksum(memory), expected);
  EXPECT_EQ(checksum(disk(true)), expected);
  EXPECT_EQ(checksum(disk(true)), expected);
}

TEST_F(LoaderCacheTest, ReducedPicturesAreKeptAndGiveTheSame) {
  uint64_t plain = checksum(nullptr);
  // Of short sides from 20 to 26: some pictures are reduced, others small enough.
  shrink_ = 23;
  uint64_t expected = checksum(nullptr, 1);
  EXPECT_NE(expected, plain);
  uint64_t pixels = 0;
  for (const CacheCandidate& image : candidates(true)) {
    pixels += uint64_t(image.width) * uint64_t(image.height) * 3;
  }
  for (int workers : {1, 7}) {
    auto memory = ram(true), part = ram(true, pixels / 2);
    std::filesystem::remove_all(dir_ / "cache");
    EXPECT_EQ(checksum(memory, workers), expected);
    EXPECT_EQ(memory->images(), kImages);
    EXPECT_EQ(memory->bytes(), pixels);
    EXPECT_EQ(checksum(part, workers), expected);
    EXPECT_EQ(checksum(part, workers), expected);
    EXPECT_LE(part->bytes(), pixels / 2);
    EXPECT_EQ(checksum(disk(true), workers), expected);
  }
  auto warm = disk(true);
  EXPECT_EQ(warm->held_images(), kImages);
  blank_files();
  EXPECT_EQ(checksum(warm), expected);
  EXPECT_NE(checksum(nullptr), expected);
}

TEST_F(LoaderCacheTest, DamagedFilesLeaveTheSameHolesWhereOthersAreReduced) {
  shrink_ = 23;
  for (int i : {2, 5, 17, 27}) damage(i);
  uint64_t expected = checksum(nullptr);
  auto memory = ram(true);
  EXPECT_EQ(checksum(memory), expected);
  EXPECT_EQ(memory->images(), kImages - 4);
  EXPECT_EQ(checksum(memory), expected);
}

}  // namespace
}  // namespace pounce
