// The benchmark of the loader: what it counts, what it refuses, that its verification sees errors.
#include <cstdlib>

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/temp_dir.h"
#include "data/dataset.h"
#include "expect_error.h"
#include "pounce/bench.h"
#include "train/verify_loader.h"

namespace pounce {
namespace {

class BenchLoaderTest : public testing::Test {
 protected:
  // `folder` may hold parts: "train/cat". The files become 0.png, 1.png, ...
  void put_images(const std::string& folder, int n) {
    std::vector<std::string> digits = find_image_files(POUNCE_SOURCE_DIR "/samples/digits/0");
    for (int i = 0; i < n; ++i) {
      std::string path = folder + "/" + std::to_string(i) + ".png";
      dir_.put(path, read_file(digits.at(size_t(i))).value());
    }
  }

  BenchLoaderConfig config() const {
    return {.data = dir_.path(), .image_size = 16, .batch_size = 4, .seconds = 60, .epochs = 2};
  }

  test::TempDir dir_;
};

TEST_F(BenchLoaderTest, CountsTheTrainingImagesOfAFolder) {
  put_images("train/cat", 6);
  put_images("train/dog", 5);
  put_images("val/cat", 3);
  put_images("val/dog", 3);
  LoaderVerification seen;
  BenchLoaderResult result = bench_loader(config(), [&](const auto& check) { seen = check; });
  EXPECT_EQ(result.images, 11);
  EXPECT_EQ(result.files.images, 22);
  EXPECT_EQ(result.skipped, 0);
  EXPECT_EQ(seen.images, 11);
  EXPECT_EQ(result.verification.images, 11);
  EXPECT_GT(result.files.images_per_second, 0);
  EXPECT_LE(result.files.p10, result.files.images_per_second);
  EXPECT_GE(result.files.p90, result.files.images_per_second);
  EXPECT_GT(result.files.images_per_cpu_second, 0);
  EXPECT_GT(result.files.read_ms, 0);
  EXPECT_GT(result.files.decode_ms, 0);
  EXPECT_GT(result.files.transform_ms, 0);
  EXPECT_GE(result.files.wait_ms, 0);
}

TEST_F(BenchLoaderTest, ACacheIsFilledThenUsed) {
  put_images("a", 6);
  put_images("b", 6);
  BenchLoaderConfig cached = config();
  cached.epochs = 3;
  cached.cache = CacheMode::Ram;
  BenchLoaderResult result = bench_loader(cached);
  EXPECT_EQ(result.files.images, 12);
  ASSERT_TRUE(result.cached);
  EXPECT_EQ(result.cached->images, 24);
  EXPECT_NE(result.cache_note.find("12 of 12 images"), std::string::npos) << result.cache_note;
  EXPECT_FALSE(bench_loader(config()).cached);
  cached.cache = CacheMode::Auto;
  EXPECT_ERROR(bench_loader(cached), ErrorKind::Config, "none, ram or disk");
}

TEST_F(BenchLoaderTest, TheVerificationDoesNotKeepTheCacheFolderToItself) {
  put_images("a", 6);
  put_images("b", 6);
  test::TempDir folder;
  setenv("POUNCE_CACHE_DIR", folder.path().c_str(), 1);
  BenchLoaderConfig cached = config();
  cached.cache = CacheMode::Disk;
  std::string note = bench_loader(cached).cache_note;
  unsetenv("POUNCE_CACHE_DIR");
  EXPECT_NE(note.find("12 of 12 images"), std::string::npos) << note;
  EXPECT_EQ(note.find("may add none"), std::string::npos) << note;
}

TEST_F(BenchLoaderTest, AnyFolderWithPicturesWillDo) {
  put_images("2021/march", 3);
  put_images("2021", 2);
  EXPECT_EQ(bench_loader(config()).images, 5);
}

TEST_F(BenchLoaderTest, TimeEndsTheMeasurement) {
  put_images("a", 3);
  put_images("b", 3);
  BenchLoaderConfig brief = config();
  brief.epochs = 0;
  brief.seconds = 0.05;
  BenchLoaderResult result = bench_loader(brief);
  EXPECT_GT(result.files.images, 0);
  EXPECT_GE(result.files.seconds, 0.05);
  EXPECT_LT(result.files.seconds, 5);
}

TEST_F(BenchLoaderTest, DamagedFilesAreCountedOnce) {
  put_images("a", 5);
  put_images("b", 5);
  std::vector<uint8_t> bytes = read_file(dir_ / "a/1.png").value();
  bytes[bytes.size() / 2] ^= 0xFF;
  dir_.put("a/1.png", bytes);
  BenchLoaderResult result = bench_loader(config());
  EXPECT_EQ(result.skipped, 1);
  EXPECT_EQ(result.files.images, 2 * (result.images - 1));
}

TEST_F(BenchLoaderTest, RefusesWhatItCannotMeasure) {
  BenchLoaderConfig bad = config();
  bad.data = dir_ / "none";
  EXPECT_ERROR(bench_loader(bad), ErrorKind::Config, "none");
  EXPECT_ERROR(bench_loader(config()), ErrorKind::Config, dir_.path());  // no images
  bad = config();
  bad.crop_scale_min = 2;
  EXPECT_ERROR(bench_loader(bad), ErrorKind::Config, "crop-scale is 2");
  bad = config();
  bad.seconds = 0;
  EXPECT_ERROR(bench_loader(bad), ErrorKind::Config, "above 0");
}

TEST_F(BenchLoaderTest, AStopEndsIt) {
  put_images("a", 3);
  put_images("b", 3);
  std::stop_source source;
  EXPECT_ERROR(bench_loader(
                   config(), [&](const auto&) { source.request_stop(); }, source.get_token()),
               ErrorKind::Interrupted, "stopped");
}

// A loader whose pictures are not those of the files.
TEST_F(BenchLoaderTest, TheVerificationSeesOtherPixels) {
  put_images("a", 4);
  SampleList samples;
  for (uint64_t i = 0; i < 4; ++i) {
    samples.push_back({.path = "a/" + std::to_string(i) + ".png", .id = i});
  }
  BatchLoaderOptions options{.root = dir_.path(), .preprocessing = {.image_size = 16}};
  EXPECT_EQ(verify_loader(options, samples).images, 4);
  options.reader = [](uint32_t, Image& image) {
    image.width = image.height = 8;
    image.rgb.assign(8 * 8 * 3, 7);
    return Result<void>();
  };
  EXPECT_ERROR(verify_loader(options, samples), ErrorKind::Internal, "other pixels");
}

}  // namespace
}  // namespace pounce
