// What threads, time and trouble may do to a loader, and that none of it shows in what it delivers.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>

#include <gmock/gmock.h>

#include "base/system.h"
#include "data/loader_folder.h"
#include "data/sample_reader.h"
#include "expect_error.h"

namespace pounce {
namespace {

using namespace test;
using namespace std::chrono_literals;
using testing::ElementsAre;

constexpr size_t kBytes = size_t(kSize) * kSize * 3;

class LoaderThreads : public LoaderFolder {
 protected:
  // Everything a batch says, for two epochs.
  static std::vector<std::string> delivered(BatchLoader& loader) {
    std::vector<std::string> text;
    for (uint32_t epoch : {0U, 1U}) {
      for (const ImageBatch& batch : drain(loader, epoch)) {
        text.push_back(std::to_string(batch.index) + "/" + std::to_string(batch.planned_size));
        text.emplace_back(batch.images.begin(), batch.images.end());
        for (uint32_t i : batch.indices) text.push_back(std::to_string(i));
        for (int32_t label : batch.labels) text.push_back(std::to_string(label));
        for (uint32_t i : batch.hole_indices) text.push_back("hole " + std::to_string(i));
        for (const SkippedFile& hole : batch.holes) text.push_back(hole.path + hole.reason);
      }
    }
    return text;
  }

  // A picture drawn for the number of each sample, after a pause that differs from call to call.
  static Result<void> draw(uint32_t index, Image& image) {
    static std::atomic<int> calls = 0;
    std::this_thread::sleep_for(std::chrono::microseconds(calls++ * 97 % 400));
    if (index % 13 == 5) return tl::make_unexpected(Error(ErrorKind::BadData, "drawn badly"));
    image = pattern_image(20 + int(index % 9), 30);
    for (uint8_t& value : image.rgb) value = uint8_t(value + index * 5);
    return {};
  }
};

TEST_F(LoaderThreads, TheyDoNotShowInWhatIsDelivered) {
  make_images(90);
  for (int i : {3, 40, 41, 77}) damage(i);
  BatchLoader one(options(1), samples_);
  std::vector<std::string> expected = delivered(one);
  EXPECT_THAT(expected, testing::Contains("hole 77"));
  for (int workers : {2, 7, 16, 0}) {
    SCOPED_TRACE(workers);
    for (int prefetch : {0, 1, 5}) {
      BatchLoaderOptions other = options(workers);
      other.prefetch = prefetch;
      BatchLoader loader(other, samples_);
      EXPECT_EQ(delivered(loader), expected);
    }
  }
}

TEST_F(LoaderThreads, NorWithAReaderOfTheCaller) {
  make_images(80);
  BatchLoaderOptions own = options(1);
  own.reader = draw;
  BatchLoader one(own, samples_);
  std::vector<std::string> expected = delivered(one);
  EXPECT_THAT(expected, testing::Contains("hole 18"));
  for (int workers : {2, 7, 16, 0}) {
    SCOPED_TRACE(workers);
    own.workers = workers;
    BatchLoader loader(own, samples_);
    EXPECT_EQ(delivered(loader), expected);
  }
}

TEST_F(LoaderThreads, UnderEveryIndexLieThePixelsOfItsFileOnce) {
  make_images(70);
  for (int i : {8, 9, 60}) damage(i);
  BatchLoaderOptions plain = options(7);
  plain.augmentation.enabled = false;
  BatchLoader loader(plain, samples_);
  std::set<uint32_t> seen;
  for (const ImageBatch& batch : drain(loader, 0)) {
    for (size_t i = 0; i < batch.indices.size(); ++i) {
      EXPECT_TRUE(seen.insert(batch.indices[i]).second);
      auto expected =
          load_for_inference(dir_ / samples_[batch.indices[i]].path, plain.preprocessing);
      ASSERT_TRUE(expected);
      EXPECT_TRUE(
          std::ranges::equal(std::span(batch.images).subspan(i * kBytes, kBytes), *expected));
    }
  }
  EXPECT_EQ(seen.size(), 67U);
}

// What a damaged file costs: one call, and nothing in later epochs.
TEST_F(LoaderThreads, OneDamagedFileOfManyCostsNothingElse) {
  make_images(200);
  for (int bad : {-1, 123}) {
    SCOPED_TRACE(bad);
    std::atomic<int> calls = 0;
    BatchLoaderOptions counted = options(2);
    counted.reader = [&](uint32_t index, Image& image) -> Result<void> {
      ++calls;
      if (int(index) == bad) return tl::make_unexpected(Error(ErrorKind::BadData, "bad"));
      image = pattern_image(24, 24);
      return {};
    };
    BatchLoader loader(counted, samples_);
    EXPECT_EQ(drain(loader, 0).size(), 25U);
    EXPECT_EQ(calls, 200);
    EXPECT_EQ(drain(loader, 1).size(), 25U);
    EXPECT_EQ(calls, bad < 0 ? 400 : 399);
  }
}

class CountingStaging : public StagingMemory {
 public:
  uint8_t* allocate(size_t bytes) override {
    ++allocations;
    ++live;
    return plain_->allocate(bytes);
  }
  void free(uint8_t* memory, size_t bytes) noexcept override {
    --live;
    plain_->free(memory, bytes);
  }

  std::atomic<int> allocations = 0, live = 0;

 private:
  std::shared_ptr<StagingMemory> plain_ = plain_staging();
};

TEST_F(LoaderThreads, BatchesUseTheirMemoryAgain) {
  make_images(100);
  damage(17);  // the sizes of later batches differ
  auto staging = std::make_shared<CountingStaging>();
  {
    BatchLoaderOptions counted = options(4);
    counted.prefetch = 3;
    counted.staging = staging;
    BatchLoader loader(counted, samples_);
    for (uint32_t epoch = 0; epoch < 4; ++epoch) {
      loader.start_epoch(epoch);
      int batches = 0;
      while (auto batch = loader.next()) {
        EXPECT_EQ(reinterpret_cast<uintptr_t>(batch->images.data()) % kStagingAlignment, 0U);
        loader.recycle(std::move(*batch));
        // An epoch that is given up keeps its memory, too.
        if (epoch == 2 && ++batches == 5) break;
      }
    }
    for (uint32_t epoch = 4; epoch < 20; ++epoch) {
      loader.start_epoch(epoch);
      while (auto batch = loader.next()) loader.recycle(std::move(*batch));
    }
    // Three ahead, one here, and what threads of the lost epoch still wrote to.
    EXPECT_LE(staging->allocations, 4 + 4);
  }
  EXPECT_EQ(staging->live, 0);
}

TEST_F(LoaderThreads, ABatchOutlivesItsLoader) {
  make_images(8);
  std::optional<ImageBatch> batch;
  {
    BatchLoader loader(options(), samples_);
    loader.start_epoch(0);
    batch = loader.next();
  }
  ASSERT_TRUE(batch);
  EXPECT_EQ(batch->images.size(), 8 * kBytes);
  EXPECT_NE(std::count(batch->images.begin(), batch->images.end(), 0), 8 * int64_t(kBytes));
}

TEST_F(LoaderThreads, ErrorsComeInTheOrderOfTheImages) {
  make_images(64);
  for (int workers : {1, 2, 7, 16, 0}) {
    SCOPED_TRACE(workers);
    BatchLoaderOptions failing = options(workers);
    failing.shuffle = false;
    failing.reader = [](uint32_t index, Image& image) -> Result<void> {
      // The later one fails first.
      if (index == 29) std::this_thread::sleep_for(10ms);
      if (index == 29 || index == 30) throw std::runtime_error(std::to_string(index));
      image = pattern_image(24, 24);
      return {};
    };
    BatchLoader loader(failing, samples_);
    loader.start_epoch(0);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(loader.next().value().size(), 8);
    for (int i = 0; i < 2; ++i) {
      try {
        loader.next();
        FAIL() << "nothing was thrown";
      } catch (const std::runtime_error& error) {
        EXPECT_STREQ(error.what(), "29");
      }
    }
  }
}

// Holds every thread that reads, until it is opened.
class Gate {
 public:
  void pass() {
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return is_open_; });
  }
  void wait_for(int threads) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return waiting_ >= threads; });
  }
  void open() {
    std::lock_guard lock(mutex_);
    is_open_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int waiting_ = 0;
  bool is_open_ = false;
};

TEST_F(LoaderThreads, AStopEndsTheWaitForAPictureThatIsStillDecoded) {
  make_images(16);
  Gate gate;
  std::stop_source source;
  BatchLoaderOptions stoppable = options(2);
  stoppable.stop = source.get_token();
  stoppable.reader = [&](uint32_t, Image& image) {
    gate.pass();
    image = pattern_image(24, 24);
    return Result<void>();
  };
  BatchLoader loader(stoppable, samples_);
  loader.start_epoch(0);
  gate.wait_for(2);
  std::jthread stopper([&] {
    std::this_thread::sleep_for(5ms);
    source.request_stop();
  });
  EXPECT_ERROR(loader.next(), ErrorKind::Interrupted, "stopped");
  EXPECT_ERROR(loader.next(), ErrorKind::Interrupted, "stopped");
  gate.open();
}

TEST_F(LoaderThreads, AnEpochWhosePicturesAreStillDecodedCanBeGivenUp) {
  make_images(40);
  Gate gate;
  std::atomic<bool> is_gated = true;
  BatchLoaderOptions gated = options(3);
  gated.reader = [&](uint32_t index, Image& image) {
    if (is_gated) gate.pass();
    image = pattern_image(20 + int(index % 5), 24);
    return Result<void>();
  };
  BatchLoader plain(gated, samples_), loader(gated, samples_);
  loader.start_epoch(0);
  gate.wait_for(3);
  is_gated = false;
  loader.start_epoch(1);  // three threads still write to batches of epoch 0
  gate.open();
  std::vector<ImageBatch> expected = drain(plain, 1);
  for (const ImageBatch& one : expected) EXPECT_EQ(loader.next().value().images, one.images);
  EXPECT_FALSE(loader.next());
}

TEST_F(LoaderThreads, DestroyedWithThreadsInEveryPhase) {
  make_images(60);
  for (int workers : {1, 5, 0}) {
    for (int pause : {0, 1, 5}) {
      BatchLoader untouched(options(workers), samples_);
      BatchLoader begun(options(workers), samples_), taken(options(workers), samples_),
          ended(options(workers), samples_);
      begun.start_epoch(0);
      taken.start_epoch(0);
      EXPECT_TRUE(taken.next());
      drain(ended, 0);
      std::this_thread::sleep_for(std::chrono::milliseconds(pause));
    }
  }
}

TEST_F(LoaderThreads, AStopEndsTheReadingOfAFile) {
  std::string path = dir_.put("large.jpg", std::string(4 << 20, 'x'));
  Bytes content;
  std::stop_source source;
  ASSERT_TRUE(read_image_file(path, source.get_token(), content));
  EXPECT_EQ(content.size(), size_t(4) << 20);
  source.request_stop();
  EXPECT_ERROR(std::ignore = read_image_file(path, source.get_token(), content),
               ErrorKind::Interrupted, "stopped");
}

TEST_F(LoaderThreads, GivenNumbersAreKeptAndMeasuredOnesGrow) {
  make_images(200);
  BatchLoaderOptions slow = options(3);
  slow.reader = [](uint32_t, Image& image) {
    std::this_thread::sleep_for(1ms);
    image = pattern_image(24, 24);
    return Result<void>();
  };
  BatchLoader given(slow, samples_);
  EXPECT_EQ(given.threads(), 3);
  drain(given, 0);
  EXPECT_EQ(given.threads(), 3);
  slow.workers = 0;
  BatchLoader measured(slow, samples_);
  EXPECT_EQ(measured.threads(), 1);
  drain(measured, 0);  // a consumer who does nothing but wait
  EXPECT_EQ(measured.threads(), usable_cores());
}

TEST_F(LoaderThreads, StagesAndWaitsAreOfTheEpoch) {
  make_images(40);
  BatchLoaderOptions slow = options(1);
  slow.reader = [](uint32_t, Image& image) {
    std::this_thread::sleep_for(1ms);
    image = pattern_image(24, 24);
    return Result<void>();
  };
  BatchLoader loader(slow, samples_);
  for (uint32_t epoch : {0U, 1U}) {
    drain(loader, epoch);
    StageSeconds stages = loader.stage_seconds();
    EXPECT_GE(stages.read, 0.040);
    EXPECT_EQ(stages.decode, 0);
    EXPECT_GT(stages.transform, 0);
    EXPECT_LT(stages.transform, stages.read);
    EXPECT_GE(loader.wait_seconds(), 0.035);
    EXPECT_STREQ(slowest_stage(stages), "read");
  }
  loader.start_epoch(2);
  EXPECT_EQ(loader.wait_seconds(), 0);
  BatchLoader files(options(1), samples_);
  drain(files, 0);
  EXPECT_GT(files.stage_seconds().read, 0);
  EXPECT_GT(files.stage_seconds().decode, 0);
}

TEST(SlowestStage, IsTheOneThatTookLongest) {
  EXPECT_STREQ(slowest_stage({.read = 3, .decode = 2, .transform = 1}), "read");
  EXPECT_STREQ(slowest_stage({.read = 1, .decode = 2, .transform = 1}), "decode");
  EXPECT_STREQ(slowest_stage({.read = 1, .decode = 2, .transform = 3}), "transform");
}

// Keeps everything, as one kind.
class OpenCache : public ImageCache {
 public:
  explicit OpenCache(CachedKind kind) : kind_(kind) {}

  bool may_hold(uint64_t) const override { return true; }
  std::optional<CachedImage> find(uint64_t id, const FileStamp& stamp) override {
    std::lock_guard lock(mutex_);
    auto entry = entries_.find(id);
    if (entry == entries_.end() || entry->second->stamp != stamp) return std::nullopt;
    ++hits;
    std::shared_ptr<Entry> found = entry->second;
    return CachedImage{kind_, found->data, found->width, found->height, found};
  }
  bool wants(uint64_t, int, int, uint64_t, CachedKind* kind) const override {
    *kind = kind_;
    return true;
  }
  void store(uint64_t id, const FileStamp& stamp, const CachedImage& image) override {
    std::lock_guard lock(mutex_);
    EXPECT_EQ(image.kind, kind_);
    entries_[id] = std::make_shared<Entry>(
        Entry{stamp, {image.data.begin(), image.data.end()}, image.width, image.height});
  }
  size_t size() const { return entries_.size(); }

  int hits = 0;

 private:
  struct Entry {
    FileStamp stamp;
    Bytes data;
    int width, height;
  };
  CachedKind kind_;
  std::mutex mutex_;
  std::map<uint64_t, std::shared_ptr<Entry>> entries_;
};

TEST_F(LoaderThreads, ACacheChangesNothing) {
  make_images(50);
  for (int i : {3, 31}) damage(i);
  BatchLoader plain(options(2), samples_);
  std::vector<std::string> expected = delivered(plain);
  for (CachedKind kind : {CachedKind::Bytes, CachedKind::Pixels}) {
    SCOPED_TRACE(int(kind));
    auto cache = std::make_shared<OpenCache>(kind);
    BatchLoaderOptions cached = options(3);
    cached.cache = cache;
    BatchLoader cold(cached, samples_), warm(cached, samples_);
    EXPECT_EQ(delivered(cold), expected);
    EXPECT_EQ(cache->size(), 48U);  // nothing of the damaged ones
    EXPECT_EQ(cache->hits, 48);     // in the second epoch
    EXPECT_EQ(delivered(warm), expected);
    EXPECT_EQ(cache->hits, 3 * 48);
  }
}

TEST_F(LoaderThreads, ACacheDoesNotHideWhatHappensToFiles) {
  make_images(12);
  BatchLoaderOptions cached = options(2);
  cached.cache = std::make_shared<OpenCache>(CachedKind::Bytes);
  BatchLoader loader(cached, samples_);
  drain(loader, 0);
  std::filesystem::remove(dir_ / samples_[4].path);
  dir_.put(samples_[7].path, encode_jpeg(solid_image(40, 40, {200, 10, 10})));
  std::vector<ImageBatch> found = drain(loader, 1);
  BatchLoader plain(options(1), samples_);
  std::vector<ImageBatch> expected = drain(plain, 1);
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].images, expected[i].images);
    EXPECT_EQ(found[i].hole_indices, expected[i].hole_indices);
  }
  EXPECT_THAT(loader.excluded(), ElementsAre(samples_[4].id));
}

}  // namespace
}  // namespace pounce
