#include "data/disk_cache.h"

#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "data/fixtures.h"

namespace pounce {
namespace {

using namespace test;
using testing::HasSubstr;

constexpr uint64_t kPlenty = uint64_t{1} << 30;

// Image `id` in its `edition`: what a file holds after so many changes.
Bytes content_of(uint64_t id, uint64_t edition = 0) {
  Bytes bytes(2000 + size_t(id * 977 % 3000));
  uint64_t state = id * 1'000'003 + edition + 1;
  for (uint8_t& byte : bytes) {
    state = state * 6'364'136'223'846'793'005U + 1'442'695'040'888'963'407U;
    byte = uint8_t(state >> 56);
  }
  return bytes;
}

FileStamp stamp_of(uint64_t id, uint64_t edition = 0) {
  return {content_of(id, edition).size(), int64_t(1000 + edition)};
}

class DiskCacheTest : public testing::Test {
 protected:
  static std::vector<CacheCandidate> candidates(uint64_t n, bool may_hold_pixels = false) {
    std::vector<CacheCandidate> list;
    for (uint64_t id = 0; id < n; ++id) {
      list.push_back({id, 40, 30, content_of(id).size(), may_hold_pixels});
    }
    return list;
  }

  std::string folder() const { return dir_ / "cache"; }

  std::unique_ptr<DiskCache> open(uint64_t n, uint64_t limit = kPlenty) const {
    auto cache = DiskCache::open({.folder = folder(),
                                  .root = dir_.path(),
                                  .rule = "exif",
                                  .limit = limit,
                                  .candidates = candidates(n)});
    if (!cache) throw cache.error();
    return std::move(*cache);
  }

  static void store(DiskCache& cache, uint64_t id, uint64_t edition = 0) {
    Bytes content = content_of(id, edition);
    cache.store(id, stamp_of(id, edition), {.kind = CachedKind::Bytes, .data = content});
  }

  // 1: held and right; 0: not held. Anything wrong fails the test.
  static int check(DiskCache& cache, uint64_t id, uint64_t edition = 0) {
    auto found = cache.find(id, stamp_of(id, edition));
    if (!found) return 0;
    Bytes expected = content_of(id, edition);
    EXPECT_TRUE(
        std::equal(found->data.begin(), found->data.end(), expected.begin(), expected.end()))
        << id;
    return 1;
  }

  static int count(DiskCache& cache, uint64_t n) {
    int held = 0;
    for (uint64_t id = 0; id < n; ++id) held += check(cache, id);
    return held;
  }

  std::string file() const {
    std::vector<CacheFile> files = list_cache_files(folder());
    return files.size() == 1 ? files[0].path : "";
  }

  TempDir dir_;
};

TEST_F(DiskCacheTest, KeepsImagesFromRunToRun) {
  constexpr uint64_t kImages = 2500;  // more than two blocks
  {
    auto cache = open(kImages);
    EXPECT_TRUE(cache->is_writer());
    for (uint64_t id = 0; id < kImages; ++id) {
      EXPECT_EQ(check(*cache, id), 0);
      CachedKind kind = CachedKind::Pixels;
      ASSERT_TRUE(cache->wants(id, 40, 30, content_of(id).size(), &kind));
      EXPECT_EQ(kind, CachedKind::Bytes);
      store(*cache, id);
      EXPECT_EQ(check(*cache, id), 1);
    }
    EXPECT_EQ(count(*cache, kImages), int(kImages));
  }
  auto cache = open(kImages);
  EXPECT_EQ(cache->held_images(), int64_t(kImages));
  EXPECT_EQ(count(*cache, kImages), int(kImages));
  CachedKind kind{};
  EXPECT_FALSE(cache->wants(kImages, 1, 1, 1, &kind));
  EXPECT_THAT(cache->forecast().summary(), HasSubstr("caches 2,500 of 2,500 images"));
}

TEST_F(DiskCacheTest, KeepsPixelsWithTheirSize) {
  std::vector<CacheCandidate> list{{1, 3, 2, 10, true}, {2, 3, 2, 10, false}};
  DiskCacheOptions options{folder(), dir_.path(), "exif", kPlenty, list};
  Bytes pixels = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18};
  {
    auto cache = std::move(DiskCache::open(options).value());
    CachedKind kind{};
    ASSERT_TRUE(cache->wants(1, 3, 2, 10, &kind));
    EXPECT_EQ(kind, CachedKind::Pixels);
    cache->store(1, {10, 1}, {CachedKind::Pixels, pixels, 3, 2, nullptr});
    cache->store(2, {10, 1}, {CachedKind::Pixels, pixels, 3, 2, nullptr});
  }
  auto cache = std::move(DiskCache::open(options).value());
  auto found = cache->find(1, {10, 1});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->kind, CachedKind::Pixels);
  EXPECT_EQ(found->width, 3);
  EXPECT_EQ(found->height, 2);
  EXPECT_EQ(Bytes(found->data.begin(), found->data.end()), pixels);
  // Its pixels would not give what its bytes give.
  EXPECT_FALSE(cache->find(2, {10, 1}));
  // Another rule is another file.
  options.rule = "";
  EXPECT_FALSE(DiskCache::open(options).value()->find(1, {10, 1}));
}

TEST_F(DiskCacheTest, BytesGiveWayToPixelsWhenTheForecastSaysSo) {
  Bytes bytes(10, 1), pixels(18, 2);
  DiskCacheOptions options{folder(), dir_.path(), "", kPlenty, {{1, 3, 2, 10, false}}};
  DiskCache::open(options).value()->store(1, {10, 1}, {.data = bytes});
  options.candidates[0].may_hold_pixels = true;
  {
    auto cache = std::move(DiskCache::open(options).value());
    EXPECT_FALSE(cache->find(1, {10, 1}));
    // Whoever may not store them takes what is there.
    auto reader = std::move(DiskCache::open(options).value());
    EXPECT_EQ(reader->find(1, {10, 1})->kind, CachedKind::Bytes);
    cache->store(1, {10, 1}, {CachedKind::Pixels, pixels, 3, 2, nullptr});
    EXPECT_EQ(cache->find(1, {10, 1})->kind, CachedKind::Pixels);
  }
  options.candidates[0].may_hold_pixels = false;
  EXPECT_EQ(DiskCache::open(options).value()->find(1, {10, 1})->kind, CachedKind::Bytes);
}

TEST_F(DiskCacheTest, ChangedFilesAreStoredAnewAndRemovedOnesForgotten) {
  {
    auto cache = open(3);
    for (uint64_t id = 0; id < 3; ++id) store(*cache, id);
    EXPECT_EQ(check(*cache, 1, 1), 0);  // another size or time
    auto held = cache->find(1, stamp_of(1));
    store(*cache, 1, 1);
    EXPECT_EQ(check(*cache, 1, 1), 1);
    EXPECT_EQ(check(*cache, 1, 0), 0);
    Bytes old = content_of(1);
    EXPECT_TRUE(std::equal(old.begin(), old.end(), held->data.begin()));
  }
  auto cache = open(2);
  EXPECT_EQ(check(*cache, 1, 1), 1);
  EXPECT_EQ(check(*cache, 1, 0), 0);
  EXPECT_EQ(check(*cache, 0), 1);
}

TEST_F(DiskCacheTest, AFileOfMostlyDeadBytesBeginsAnew) {
  {
    auto cache = open(100);
    for (uint64_t edition = 0; edition < 4; ++edition) {
      for (uint64_t id = 0; id < 100; ++id) store(*cache, id, edition);
    }
  }
  uint64_t before = std::filesystem::file_size(file());
  auto cache = open(100);
  EXPECT_EQ(cache->held_images(), 0);
  EXPECT_TRUE(cache->is_writer());
  EXPECT_LT(std::filesystem::file_size(file()), before / 4);
  store(*cache, 1);
  EXPECT_EQ(check(*cache, 1), 1);
}

TEST_F(DiskCacheTest, ImagesThatNobodyWantsGiveWayWhenTheRoomIsNeeded) {
  {
    auto cache = open(100);
    for (uint64_t id = 0; id < 100; ++id) store(*cache, id);
  }
  // A tenth is wanted still: no reason to begin anew as long as there is room.
  EXPECT_EQ(open(10)->held_images(), 10);
  std::vector<CacheCandidate> others;
  for (uint64_t id = 1000; id < 1100; ++id) {
    others.push_back({id, 9, 9, content_of(id).size(), false});
  }
  uint64_t limit = std::filesystem::file_size(file()) + (100 << 10);
  DiskCacheOptions options{folder(), dir_.path(), "exif", limit, others};
  auto cache = std::move(DiskCache::open(options).value());
  for (const CacheCandidate& image : others) store(*cache, image.id);
  EXPECT_EQ(cache->held_images(), 100);
}

TEST_F(DiskCacheTest, NeverGrowsBeyondItsLimit) {
  constexpr uint64_t kLimit = 500 << 10;
  auto cache = open(300, kLimit);
  for (uint64_t id = 0; id < 300; ++id) store(*cache, id);
  uint64_t size = std::filesystem::file_size(file());
  EXPECT_LE(size, kLimit);
  EXPECT_GT(size, kLimit * 3 / 4);
  EXPECT_EQ(count(*cache, 300), int(cache->forecast().images.size()));
  EXPECT_LT(cache->forecast().images.size(), 200U);
  // The other data sets' files count.
  DiskCacheOptions other{folder(), dir_ / "other", "", kLimit, candidates(300)};
  auto second = std::move(DiskCache::open(other).value());
  for (uint64_t id = 0; id < 300; ++id) store(*second, id);
  EXPECT_EQ(second->held_images(), 0);
}

// ---- Damage ----

TEST_F(DiskCacheTest, AFlippedByteIsFoundWhereverItLies) {
  constexpr uint64_t kImages = 20;
  {
    auto cache = open(kImages);
    for (uint64_t id = 0; id < kImages; ++id) store(*cache, id);
  }
  std::string path = file();
  Bytes whole = read_file(path).value();
  int lost = 0;
  for (size_t at = 0; at < whole.size(); at += at < 2000 ? 13 : 509) {
    Bytes flipped = whole;
    flipped[at] ^= 0x41;
    dir_.put("cache/" + std::string(base_name(path)), flipped);
    // The magic is gone: not a file of Pounce's any more.
    if (at < 8) {
      EXPECT_THROW(open(kImages), Error);
      continue;
    }
    auto cache = open(kImages);
    int held = count(*cache, kImages);
    lost += int(kImages) - held;
    for (uint64_t id = 0; id < kImages; ++id) {
      if (check(*cache, id) == 0) store(*cache, id);
    }
    EXPECT_EQ(count(*cache, kImages), int(kImages)) << at;
  }
  EXPECT_GT(lost, 100);
}

TEST_F(DiskCacheTest, ATornTailCostsOnlyItself) {
  constexpr uint64_t kImages = 50;
  {
    auto cache = open(kImages);
    for (uint64_t id = 0; id < kImages; ++id) store(*cache, id);
  }
  std::string path = file();
  Bytes whole = read_file(path).value();
  for (size_t size = whole.size(); size > 100; size -= std::min<size_t>(size - 100, 9'973)) {
    dir_.put("cache/" + std::string(base_name(path)),
             Bytes(whole.begin(), whole.begin() + long(size)));
    auto cache = open(kImages);
    count(*cache, kImages);
    for (uint64_t id = 0; id < kImages; ++id) {
      if (check(*cache, id) == 0) store(*cache, id);
    }
    EXPECT_EQ(count(*cache, kImages), int(kImages)) << size;
  }
}

TEST_F(DiskCacheTest, AnotherVersionBeginsAnew) {
  { store(*open(3), 1); }
  std::string path = file();
  Bytes bytes = read_file(path).value();
  CacheHeader header = decode_cache_header(bytes)->header;
  header.version += 1;
  write_file(path, encode_cache_header(header));
  auto cache = open(3);
  EXPECT_EQ(check(*cache, 1), 0);
  store(*cache, 1);
  EXPECT_EQ(check(*cache, 1), 1);
}

TEST_F(DiskCacheTest, AnotherProgramsFileIsLeftAlone) {
  { open(3); }
  std::string path = file();
  write_file(path, std::string_view("not ours"));
  EXPECT_THROW(open(3), Error);
  EXPECT_EQ(read_file(path)->size(), 8U);
}

// ---- Several processes ----

TEST_F(DiskCacheTest, OneWritesTheOthersReadAndOneOfThemTakesOver) {
  auto first = open(100);
  auto second = open(100);
  EXPECT_TRUE(first->is_writer());
  EXPECT_FALSE(second->is_writer());
  for (uint64_t id = 0; id < 50; ++id) store(*first, id);
  EXPECT_EQ(count(*second, 100), 50);
  store(*second, 60);
  CachedKind kind{};
  EXPECT_FALSE(second->wants(60, 1, 1, 1, &kind));
  EXPECT_EQ(check(*first, 60), 0);
  for (uint64_t id = 50; id < 60; ++id) store(*first, id);
  first.reset();
  while (!second->is_writer()) {
    check(*second, 70);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  EXPECT_EQ(count(*second, 100), 60);
  store(*second, 70);
  EXPECT_EQ(count(*second, 100), 61);
  second.reset();
  EXPECT_EQ(count(*open(100), 100), 61);
}

TEST_F(DiskCacheTest, ClearingItDoesNotDisturbWhoUsesIt) {
  auto cache = open(10);
  for (uint64_t id = 0; id < 5; ++id) store(*cache, id);
  auto held = cache->find(0, stamp_of(0));
  EXPECT_TRUE(remove_cache_file(file()));
  auto other = open(10);
  EXPECT_TRUE(other->is_writer());
  EXPECT_EQ(count(*other, 10), 0);
  store(*cache, 6);
  EXPECT_EQ(count(*cache, 10), 6);
  store(*other, 7);
  EXPECT_EQ(count(*other, 10), 1);
}

// Runs `body` in a process of its own. It must not return.
template <typename Body>
pid_t in_child(const Body& body) {
  pid_t child = fork();
  if (child == 0) {
    try {
      body();
    } catch (...) {
    }
    _exit(7);
  }
  return child;
}

int wait_for(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

TEST_F(DiskCacheTest, AKilledWriterLeavesAFileThatCanBeReadAndContinued) {
  constexpr uint64_t kImages = 1200;
  int most = 0, killed_at_work = 0;
  for (int round = 0; round < 200 && (round < 15 || killed_at_work < 4); ++round) {
    int ready[2];
    ASSERT_EQ(pipe(ready), 0);
    pid_t child = in_child([&] {
      auto cache = open(kImages);
      char byte = cache->is_writer() ? 'w' : 'r';
      if (write(ready[1], &byte, 1) != 1) return;
      std::vector<std::jthread> threads;
      for (uint64_t t = 0; t < 3; ++t) {
        threads.emplace_back([&, t] {
          for (uint64_t id = t; id < kImages; id += 3) {
            if (check(*cache, id) == 0) store(*cache, id);
          }
        });
      }
      threads.clear();
      for (;;) pause();
    });
    char byte = 0;
    ASSERT_EQ(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    EXPECT_EQ(byte, 'w');
    std::this_thread::sleep_for(std::chrono::microseconds(100 + 400 * round));
    kill(child, SIGKILL);
    wait_for(child);
    auto cache = open(kImages);
    EXPECT_TRUE(cache->is_writer());
    int held = count(*cache, kImages);
    // Nothing that was committed is lost.
    EXPECT_GE(held, most);
    if (held > most && held < int(kImages)) ++killed_at_work;
    most = held;
  }
  EXPECT_GT(killed_at_work, 3);
  auto cache = open(kImages);
  for (uint64_t id = 0; id < kImages; ++id) {
    if (check(*cache, id) == 0) store(*cache, id);
  }
  EXPECT_EQ(count(*cache, kImages), int(kImages));
}

TEST_F(DiskCacheTest, TwoProcessesAtOnce) {
  constexpr uint64_t kImages = 1500;
  // Each goes on until it has seen all images, which one of them stores.
  auto work = [&](uint64_t salt) {
    auto cache = open(kImages);
    auto start = std::chrono::steady_clock::now();
    int held = 0;
    while (held < int(kImages) &&
           std::chrono::steady_clock::now() - start < std::chrono::minutes(1)) {
      held = 0;
      for (uint64_t i = 0; i < kImages; ++i) {
        uint64_t id = (i * 7 + salt * 501) % kImages;
        held += check(*cache, id);
        if (check(*cache, id) == 0) store(*cache, id);
      }
    }
    _exit(testing::Test::HasFailure() ? 2 : held < int(kImages) ? 1 : 0);
  };
  pid_t first = in_child([&] { work(0); }), second = in_child([&] { work(1); });
  EXPECT_EQ(WEXITSTATUS(wait_for(first)), 0);
  EXPECT_EQ(WEXITSTATUS(wait_for(second)), 0);
  EXPECT_EQ(count(*open(kImages), kImages), int(kImages));
}

// ---- No room, no rights ----

TEST_F(DiskCacheTest, AFullDiskEndsTheStoringAndNothingElse) {
  constexpr uint64_t kImages = 200;
  pid_t child = in_child([&] {
    // What a full disk gives to write(), without one.
    signal(SIGXFSZ, SIG_IGN);
    rlimit small{200 << 10, 200 << 10};
    setrlimit(RLIMIT_FSIZE, &small);
    auto cache = open(kImages);
    for (uint64_t id = 0; id < kImages; ++id) store(*cache, id);
    int held = count(*cache, kImages);
    CachedKind kind{};
    bool is_right = held > 10 && held < 100 && !cache->write_error().empty() &&
                    !cache->wants(150, 1, 1, 1, &kind) && !testing::Test::HasFailure();
    _exit(is_right ? 0 : 1);
  });
  EXPECT_EQ(wait_for(child), 0);
  auto cache = open(kImages);
  int held = count(*cache, kImages);
  EXPECT_GT(held, 10);
  for (uint64_t id = 0; id < kImages; ++id) {
    if (check(*cache, id) == 0) store(*cache, id);
  }
  EXPECT_EQ(count(*cache, kImages), int(kImages));
}

TEST_F(DiskCacheTest, AReadOnlyFolderServesWhatItHolds) {
  { store(*open(3), 1); }
  std::filesystem::permissions(file(), std::filesystem::perms(0444));
  std::filesystem::permissions(folder(), std::filesystem::perms(0555));
  std::filesystem::permissions(dir_.path(), std::filesystem::perms(0555));
  pid_t child = in_child([&] {
    // Root may write everywhere.
    constexpr uid_t kNobody = 65'534;
    if (geteuid() == 0 && setuid(kNobody) != 0) return;
    auto cache = open(3);
    bool is_right = !cache->is_writer() && check(*cache, 1) == 1;
    store(*cache, 2);
    is_right = is_right && check(*cache, 2) == 0;
    auto none = DiskCache::open({.folder = dir_ / "new", .root = "/r", .rule = "", .limit = 1});
    _exit(is_right && !none ? 0 : 1);
  });
  EXPECT_EQ(wait_for(child), 0);
  std::filesystem::permissions(dir_.path(), std::filesystem::perms::owner_all);
  std::filesystem::permissions(folder(), std::filesystem::perms::owner_all);
}

TEST_F(DiskCacheTest, SaysWhyThereIsNone) {
  std::string file = dir_.put("file", std::string("x"));
  auto cache = DiskCache::open({.folder = file + "/below", .root = "/r", .rule = "", .limit = 1});
  ASSERT_FALSE(cache);
  EXPECT_THAT(cache.error().message(), HasSubstr("cache folder"));
}

TEST_F(DiskCacheTest, SixteenThreads) {
  constexpr uint64_t kImages = 300;
  auto cache = open(kImages);
  {
    std::vector<std::jthread> threads;
    for (uint64_t t = 0; t < 16; ++t) {
      threads.emplace_back([&, t] {
        for (uint64_t i = 0; i < 900; ++i) {
          uint64_t id = (i * 11 + t * 37) % kImages, edition = i / 450;
          if (check(*cache, id, edition) == 0) store(*cache, id, edition);
        }
      });
    }
  }
  int held = 0;
  for (uint64_t id = 0; id < kImages; ++id) held += check(*cache, id, 1);
  EXPECT_EQ(held, int(kImages));
}

}  // namespace
}  // namespace pounce
