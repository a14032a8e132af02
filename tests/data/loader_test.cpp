#include "data/loader.h"

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <set>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/checksum.h"
#include "base/error.h"
#include "data/fixtures.h"
#include "data/header.h"
#include "data/loader_folder.h"

namespace pounce {
namespace {

using namespace test;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class LoaderTest : public LoaderFolder {};

TEST_F(LoaderTest, EveryImageOnceInBatchesOfNearlyOneSize) {
  make_images(33);
  BatchLoader loader(options(), samples_);
  std::vector<ImageBatch> batches = drain(loader, 0);
  EXPECT_EQ(loader.batches(), 5);
  std::vector<uint32_t> indices = indices_of(batches);
  std::sort(indices.begin(), indices.end());
  std::vector<uint32_t> all(33);
  std::iota(all.begin(), all.end(), 0U);
  EXPECT_EQ(indices, all);
  for (size_t i = 0; i < batches.size(); ++i) {
    EXPECT_EQ(batches[i].index, int64_t(i));
    EXPECT_EQ(batches[i].size(), i < 3 ? 7 : 6);
    EXPECT_EQ(batches[i].images.size(), size_t(batches[i].size()) * kSize * kSize * 3);
    for (int j = 0; j < batches[i].size(); ++j) {
      EXPECT_EQ(batches[i].labels[size_t(j)], samples_[batches[i].indices[size_t(j)]].label);
    }
  }
}

TEST_F(LoaderTest, BytesDoNotDependOnWorkersOrPrefetch) {
  make_images(50);
  BatchLoader one(options(1), samples_);
  std::vector<ImageBatch> expected = drain(one, 3);
  for (int workers : {2, 7}) {
    for (int prefetch : {1, 5}) {
      BatchLoaderOptions other = options(workers);
      other.prefetch = prefetch;
      BatchLoader loader(other, samples_);
      drain(loader, 2);
      std::vector<ImageBatch> batches = drain(loader, 3);
      ASSERT_EQ(batches.size(), expected.size());
      for (size_t i = 0; i < batches.size(); ++i) {
        EXPECT_EQ(batches[i].images, expected[i].images);
        EXPECT_EQ(batches[i].indices, expected[i].indices);
      }
    }
  }
}

TEST_F(LoaderTest, EpochsDifferInOrderAndPixels) {
  make_images(20);
  BatchLoader loader(options(), samples_);
  std::vector<ImageBatch> first = drain(loader, 0), second = drain(loader, 1);
  EXPECT_NE(indices_of(first), indices_of(second));
  EXPECT_NE(first[0].images, second[0].images);
  EXPECT_EQ(indices_of(drain(loader, 0)), indices_of(first));
}

TEST_F(LoaderTest, WithoutShuffleAndAugmentationItIsTheEvaluationRule) {
  make_images(10);
  BatchLoaderOptions plain = options();
  plain.shuffle = false;
  plain.augmentation.enabled = false;
  BatchLoader loader(plain, samples_);
  std::vector<ImageBatch> batches = drain(loader, 0);
  EXPECT_THAT(indices_of(batches), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
  size_t bytes = size_t(kSize) * kSize * 3;
  for (size_t i = 0; i < 5; ++i) {
    auto expected = load_for_inference(dir_ / samples_[i].path, {kSize, 0.875});
    ASSERT_TRUE(expected);
    EXPECT_TRUE(std::equal(expected->begin(), expected->end(),
                           batches[0].images.begin() + int64_t(i * bytes)));
  }
}

// make_images gives labels 0, 1, 2 in turn; here all but three images are of class 0.
TEST_F(LoaderTest, TheBalancedSamplerRepeatsImagesAndVariesThem) {
  make_images(12);
  for (size_t i = 0; i < samples_.size(); ++i) samples_[i].label = i < 3 ? 1 : 0;
  BatchLoaderOptions balanced = options(1);
  balanced.sampler = Sampler::Balanced;
  BatchLoader loader(balanced, samples_);
  std::vector<ImageBatch> batches = drain(loader, 0);
  std::vector<uint32_t> indices = indices_of(batches);
  ASSERT_EQ(indices.size(), 12U);
  EXPECT_EQ(std::count_if(indices.begin(), indices.end(), [](uint32_t i) { return i < 3; }), 6);
  for (uint32_t rare = 0; rare < 3; ++rare) {
    std::set<Bytes> pictures;
    for (const ImageBatch& batch : batches) {
      for (size_t j = 0; j < batch.indices.size(); ++j) {
        constexpr int64_t kBytes = int64_t(kSize) * kSize * 3;
        const uint8_t* begin = batch.images.begin() + int64_t(j) * kBytes;
        if (batch.indices[j] == rare) pictures.insert(Bytes(begin, begin + kBytes));
      }
    }
    EXPECT_EQ(pictures.size(), 2U) << rare;
  }
  balanced.workers = 7;
  BatchLoader other(balanced, samples_);
  std::vector<ImageBatch> again = drain(other, 0);
  for (size_t i = 0; i < batches.size(); ++i) EXPECT_EQ(again[i].images, batches[i].images);
}

TEST_F(LoaderTest, ADamagedFileThatComesSeveralTimesIsReportedOnce) {
  make_images(12);
  for (size_t i = 0; i < samples_.size(); ++i) samples_[i].label = i < 1 ? 1 : 0;
  damage(0);
  BatchLoaderOptions balanced = options();
  balanced.sampler = Sampler::Balanced;
  BatchLoader loader(balanced, samples_);
  size_t holes = 0, images = 0;
  for (const ImageBatch& batch : drain(loader, 0)) {
    holes += batch.holes.size();
    images += size_t(batch.size());
    EXPECT_EQ(batch.hole_indices.size(), batch.holes.size());
  }
  EXPECT_EQ(holes, 1U);
  EXPECT_EQ(images, 6U);
  // Without the class there is nothing to balance.
  EXPECT_EQ(indices_of(drain(loader, 1)).size(), 11U);
}

TEST_F(LoaderTest, ADamagedBodyLeavesAHoleAndTheOrderStays) {
  make_images(24);
  BatchLoader clean(options(), samples_);
  std::vector<ImageBatch> before = drain(clean, 0);
  uint32_t bad = before[1].indices[3];
  damage(int(bad));
  for (int workers : {1, 4}) {
    BatchLoader loader(options(workers), samples_);
    std::vector<ImageBatch> after = drain(loader, 0);
    ASSERT_EQ(after.size(), before.size());
    EXPECT_EQ(after[1].size(), 7);
    EXPECT_EQ(after[1].planned_size, 8);
    EXPECT_EQ(after[1].images.size(), size_t(7) * kSize * kSize * 3);
    ASSERT_EQ(after[1].holes.size(), 1U);
    EXPECT_EQ(after[1].holes[0].path, samples_[bad].path);
    EXPECT_EQ(after[1].holes[0].kind, SkipKind::Damaged);
    EXPECT_THAT(after[1].hole_indices, ElementsAre(bad));
    EXPECT_EQ(after[0].images, before[0].images);
    EXPECT_EQ(after[2].images, before[2].images);
    size_t bytes = size_t(kSize) * kSize * 3;
    Bytes expected(before[1].images.begin(), before[1].images.end());
    expected.erase(expected.begin() + int64_t(3 * bytes), expected.begin() + int64_t(4 * bytes));
    EXPECT_EQ(after[1].images, expected);
    // Later epochs leave it out and say nothing more.
    EXPECT_THAT(loader.excluded(), ElementsAre(samples_[bad].id));
    std::vector<ImageBatch> later = drain(loader, 1);
    EXPECT_EQ(indices_of(later).size(), 23U);
    for (const ImageBatch& batch : later) EXPECT_THAT(batch.holes, IsEmpty());
  }
}

TEST_F(LoaderTest, AVanishedFileIsAHoleAndAWholeBatchMayBeEmpty) {
  make_images(4);
  std::filesystem::remove_all(dir_ / "cat");
  BatchLoader loader(options(), samples_);
  std::vector<ImageBatch> batches = drain(loader, 0);
  ASSERT_EQ(batches.size(), 1U);
  EXPECT_EQ(batches[0].size(), 0);
  ASSERT_EQ(batches[0].holes.size(), 4U);
  EXPECT_EQ(batches[0].holes[0].kind, SkipKind::Unreadable);
  EXPECT_EQ(batches[0].holes[0].reason, "no such file or folder");
  EXPECT_THAT(drain(loader, 1), IsEmpty());
}

TEST_F(LoaderTest, ExcludedImagesAreLeftOutAndTheRestKeepsItsOrder) {
  make_images(20);
  BatchLoader loader(options(), samples_);
  std::vector<uint32_t> expected = indices_of(drain(loader, 0));
  std::erase(expected, 7U);
  std::vector<uint64_t> ids = {samples_[7].id};
  loader.exclude(ids);
  EXPECT_EQ(indices_of(drain(loader, 0)), expected);
}

TEST_F(LoaderTest, RanksShareEachBatch) {
  make_images(33);
  BatchLoader whole(options(), samples_);
  std::vector<ImageBatch> all = drain(whole, 0);
  std::vector<std::vector<ImageBatch>> parts;
  for (int rank = 0; rank < 4; ++rank) {
    BatchLoaderOptions part = options(1);
    part.rank = rank;
    part.world = 4;
    BatchLoader loader(part, samples_);
    parts.push_back(drain(loader, 0));
    ASSERT_EQ(parts.back().size(), all.size());
  }
  for (size_t i = 0; i < all.size(); ++i) {
    Bytes joined;
    for (const auto& part : parts) {
      joined.insert(joined.end(), part[i].images.begin(), part[i].images.end());
    }
    EXPECT_EQ(joined, all[i].images);
  }
}

TEST_F(LoaderTest, ARankWithoutImagesStillCountsTheBatch) {
  make_images(2);
  BatchLoaderOptions part = options(1);
  part.rank = 0;
  part.world = 4;
  BatchLoader loader(part, samples_);
  std::vector<ImageBatch> batches = drain(loader, 0);
  ASSERT_EQ(batches.size(), 1U);
  EXPECT_EQ(batches[0].size(), 0);
  EXPECT_THAT(batches[0].holes, IsEmpty());
}

TEST_F(LoaderTest, AbandonsAnEpochAndIsDestroyedAtAnyMoment) {
  make_images(60);
  for (int taken = 0; taken < 4; ++taken) {
    BatchLoader loader(options(4), samples_);
    loader.start_epoch(0);
    for (int i = 0; i < taken; ++i) ASSERT_TRUE(loader.next());
    loader.start_epoch(1);
    ASSERT_TRUE(loader.next());
    std::vector<ImageBatch> batches = drain(loader, 2);
    EXPECT_EQ(indices_of(batches).size(), 60U);
    loader.start_epoch(3);
  }
}

TEST_F(LoaderTest, AStopTokenEndsNext) {
  make_images(40);
  std::stop_source source;
  BatchLoaderOptions stoppable = options();
  stoppable.stop = source.get_token();
  BatchLoader loader(stoppable, samples_);
  loader.start_epoch(0);
  ASSERT_TRUE(loader.next());
  std::jthread stopper([&] { source.request_stop(); });
  try {
    while (loader.next()) {
    }
    stopper.join();
    loader.start_epoch(1);
    loader.next();
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Interrupted);
  }
}

TEST_F(LoaderTest, AnExceptionInAWorkerComesOutOfNext) {
  make_images(30);
  BatchLoaderOptions plain = options(3);
  plain.shuffle = false;
  BatchLoader loader(plain, samples_);
  // Beyond the range of the random numbers: the workers throw.
  loader.start_epoch(1U << 24);
  EXPECT_THROW(loader.next(), Error);
  EXPECT_THROW(loader.next(), Error);
  EXPECT_EQ(indices_of(drain(loader, 0)).size(), 30U);
}

TEST_F(LoaderTest, WithoutExifImagesStayAsStored) {
  Image image = pattern_image(24, 24);
  std::string plain = dir_.put("plain.jpg", encode_jpeg(image));
  std::string turned = dir_.put("turned.jpg", encode_jpeg(image, {.orientation = 6}));
  Preprocessing upright{kSize, 0.875}, as_stored{kSize, 0.875, false};
  EXPECT_EQ(load_for_inference(turned, as_stored).value(),
            load_for_inference(plain, upright).value());
  EXPECT_NE(load_for_inference(turned, upright).value(),
            load_for_inference(plain, upright).value());
  for (bool exif : {true, false}) {
    BatchLoaderOptions rule = options(1);
    rule.preprocessing.exif = exif;
    rule.augmentation.enabled = false;
    BatchLoader loader(rule, std::vector<Sample>{{"turned.jpg", 0, 1, 24, 24}});
    loader.start_epoch(0);
    EXPECT_EQ(loader.next()->images, load_for_inference(turned, rule.preprocessing).value());
  }
}

TEST_F(LoaderTest, RecycledMemoryChangesNothing) {
  make_images(40);
  BatchLoader fresh(options(), samples_);
  std::vector<ImageBatch> expected = drain(fresh, 0);
  BatchLoader loader(options(), samples_);
  for (uint32_t epoch : {1U, 0U}) {
    loader.start_epoch(epoch);
    for (size_t i = 0; auto batch = loader.next(); ++i) {
      if (epoch == 0) {
        EXPECT_EQ(batch->images, expected[i].images);
      }
      loader.recycle(std::move(*batch));
    }
  }
  EXPECT_GE(loader.wait_seconds(), 0);
}

TEST_F(LoaderTest, RefusesOptionsOutOfRange) {
  for (auto change : std::vector<void (*)(BatchLoaderOptions&)>{
           [](BatchLoaderOptions& o) { o.batch_size = 0; },
           [](BatchLoaderOptions& o) { o.prefetch = -1; },
           [](BatchLoaderOptions& o) { o.rank = 1; },
           [](BatchLoaderOptions& o) { o.preprocessing.image_size = 0; },
           [](BatchLoaderOptions& o) { o.preprocessing.resize_ratio = 0; },
       }) {
    BatchLoaderOptions bad = options();
    change(bad);
    EXPECT_THROW(BatchLoader(bad, samples_), Error);
  }
}

TEST_F(LoaderTest, AnEmptySetHasNoBatches) {
  BatchLoader loader(options(), {});
  EXPECT_FALSE(loader.next());
  EXPECT_THAT(drain(loader, 0), IsEmpty());
}

TEST_F(LoaderTest, AnEnormousFileIsNotRead) {
  test::TempDir dir;
  std::string path = dir.put("huge.jpg", std::string("\xFF\xD8\xFF\xE0"));
  std::filesystem::resize_file(path, uintmax_t(100) << 30);  // sparse
  Result<std::vector<uint8_t>> pixels = load_for_inference(path, {32, 0.875});
  ASSERT_FALSE(pixels);
  EXPECT_EQ(pixels.error().kind(), ErrorKind::Unsupported);
  Result<ImageHeader> header = read_image_header(path);
  ASSERT_FALSE(header);
  EXPECT_EQ(header.error().kind(), ErrorKind::Unsupported);
  EXPECT_NE(header.error().message().find("107,374,182,400 bytes"), std::string::npos);
}

TEST_F(LoaderTest, InferenceReportsWhatIsWrong) {
  make_images(1);
  damage(0);
  auto damaged = load_for_inference(dir_ / samples_[0].path, {kSize, 0.875});
  ASSERT_FALSE(damaged);
  EXPECT_EQ(damaged.error().kind(), ErrorKind::BadData);
  auto missing = load_for_inference(dir_ / "none.jpg", {kSize, 0.875});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind(), ErrorKind::Io);
}

}  // namespace
}  // namespace pounce
