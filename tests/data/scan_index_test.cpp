#include "data/scan_index.h"

#include <chrono>
#include <filesystem>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cache_folder.h"
#include "base/checksum.h"
#include "data/fixtures.h"
#include "data/header_scan.h"

namespace pounce {
namespace {

using namespace test;
using testing::ElementsAre;
using testing::IsEmpty;

// A data set in d/, the cache in cache/.
class ScanIndexTest : public testing::Test {
 protected:
  void SetUp() override {
    dir_.put("d/cat/1.jpg", encode_jpeg(pattern_image(20, 10)));
    dir_.put("d/cat/2.jpg", encode_jpeg(pattern_image(21, 11)));
    dir_.put("d/dog/3.jpg", encode_jpeg(pattern_image(22, 12)));
  }

  static SampleList list(const std::vector<std::string>& paths) {
    SampleList files;
    for (const std::string& path : paths) files.push_back(path, 0, xxh3_64(path));
    return files;
  }

  // As a scan some seconds later, when the times of the files are settled.
  HeaderScan scan(const std::vector<std::string>& paths, int64_t seconds_later = 60) {
    ScanIndex index(dir_ / "cache", dir_ / "d");
    return scan_headers(
        list(paths), index,
        {.root = dir_ / "d", .now_ns = file_clock_ns() + seconds_later * 1'000'000'000});
  }

  // Gives the known entry of a file another width, which only the index can tell.
  void mark(const std::string& folder, const std::string& name, int32_t width) {
    ScanIndex index(dir_ / "cache", dir_ / "d");
    auto block = index.find(folder);
    ASSERT_TRUE(block);
    IndexEntries entries;
    for (size_t i = 0, hint = 0; i < block->size(); ++i) {
      IndexEntry entry = block->find(block->name(i), hint).value();
      if (block->name(i) == name) entry.width = width;
      entries.emplace_back(block->name(i), entry);
    }
    index.put(folder, block->stamp(), entries);
  }

  std::string index_file() {
    std::vector<CacheFile> files = list_cache_files(dir_ / "cache");
    return files.size() == 1 ? files[0].path : "";
  }

  TempDir dir_;
  const std::vector<std::string> all_ = {"cat/1.jpg", "cat/2.jpg", "dog/3.jpg"};
};

std::vector<int> widths(const HeaderScan& scan) {
  std::vector<int> widths;
  for (const Sample& sample : scan.samples) widths.push_back(sample.width);
  return widths;
}

TEST_F(ScanIndexTest, UnchangedFilesAreNotReadAgain) {
  EXPECT_THAT(widths(scan(all_)), ElementsAre(20, 21, 22));
  mark("cat/", "2.jpg", 500);
  EXPECT_THAT(widths(scan(all_)), ElementsAre(20, 500, 22));
  struct stat status {};
  ASSERT_EQ(stat((dir_ / "cache").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700U);
}

TEST_F(ScanIndexTest, NewChangedAndRemovedFilesAreSeen) {
  scan(all_);
  for (const char* name : {"1.jpg", "2.jpg"}) mark("cat/", name, 500);
  dir_.put("d/cat/2.jpg", encode_jpeg(pattern_image(31, 11)));
  dir_.put("d/cat/4.jpg", encode_jpeg(pattern_image(34, 11)));
  EXPECT_THAT(widths(scan({"cat/1.jpg", "cat/2.jpg", "cat/4.jpg"})), ElementsAre(500, 31, 34));
  EXPECT_THAT(widths(scan({"cat/4.jpg"})), ElementsAre(34));
  ScanIndex index(dir_ / "cache", dir_ / "d");
  EXPECT_EQ(index.find("cat/")->size(), 1U);
  EXPECT_EQ(index.find("dog/")->size(), 1U);  // not scanned, still there
}

// Same size, same time of change: only the time of status change and the inode differ.
TEST_F(ScanIndexTest, ARewriteThatKeepsSizeAndTimeIsSeen) {
  scan(all_);
  mark("cat/", "1.jpg", 500);
  std::string path = dir_ / "d/cat/1.jpg";
  auto time = std::filesystem::last_write_time(path);
  Bytes bytes = encode_jpeg(pattern_image(20, 10));
  dir_.put("d/cat/1.jpg", bytes);
  std::filesystem::last_write_time(path, time);
  EXPECT_THAT(widths(scan({"cat/1.jpg"})), ElementsAre(20));
}

TEST_F(ScanIndexTest, FilesThatAreStillWarmAreNotTrusted) {
  scan(all_, /*seconds_later=*/1);
  EXPECT_EQ(index_file(), "");
  scan(all_, /*seconds_later=*/3);
  EXPECT_NE(index_file(), "");
}

TEST_F(ScanIndexTest, VerdictsAreKept) {
  dir_.put("d/cat/5.jpg", std::string("no image"));
  dir_.put("d/cat/6.jpg", std::string("\x00\x00\x00\x0cjP  \r\n\x87\n", 12));
  std::vector<std::string> paths = {"cat/5.jpg", "cat/6.jpg"};
  HeaderScan first = scan(paths), second = scan(paths);
  ASSERT_EQ(second.skipped.size(), 2U);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(second.skipped[i].path, first.skipped[i].path);
    EXPECT_EQ(second.skipped[i].kind, first.skipped[i].kind);
    EXPECT_EQ(second.skipped[i].reason, first.skipped[i].reason);
  }
  EXPECT_EQ(second.unsupported_formats, first.unsupported_formats);
  EXPECT_EQ(second.unsupported_formats.at("JPEG 2000"), 1);
  EXPECT_EQ(ScanIndex(dir_ / "cache", dir_ / "d").find("cat/")->size(), 2U);
}

TEST_F(ScanIndexTest, LinksAreFollowedEachTime) {
  ASSERT_EQ(symlink("../dog/3.jpg", (dir_ / "d/cat/7.jpg").c_str()), 0);
  ASSERT_EQ(symlink((dir_ / "d/dog/3.jpg").c_str(), (dir_ / "d/cat/8.jpg").c_str()), 0);
  ASSERT_EQ(symlink("nowhere", (dir_ / "d/cat/9.jpg").c_str()), 0);
  std::vector<std::string> paths = {"cat/2.jpg", "cat/7.jpg", "cat/8.jpg", "cat/9.jpg"};
  for (int i = 0; i < 2; ++i) {
    HeaderScan found = scan(paths);
    EXPECT_THAT(widths(found), ElementsAre(21, 22, 22));
    ASSERT_EQ(found.skipped.size(), 1U);
    EXPECT_EQ(found.skipped[0].reason, "the link leads nowhere");
  }
  dir_.put("d/dog/3.jpg", encode_jpeg(pattern_image(40, 12)));
  EXPECT_THAT(widths(scan(paths)), ElementsAre(21, 40, 40));
  // A link that is made anew, and a file in the place of one.
  for (const char* name : {"d/cat/7.jpg", "d/cat/8.jpg"}) remove_file(dir_ / name);
  ASSERT_EQ(symlink("1.jpg", (dir_ / "d/cat/7.jpg").c_str()), 0);
  dir_.put("d/cat/8.jpg", encode_jpeg(pattern_image(50, 12)));
  for (int i = 0; i < 3; ++i) EXPECT_THAT(widths(scan(paths)), ElementsAre(21, 20, 50)) << i;
  remove_file(dir_ / "d/cat/1.jpg");
  EXPECT_THAT(widths(scan(paths)), ElementsAre(21, 50));
}

// While a folder stays as it was, the index says where its links lead; what lies there is asked.
TEST_F(ScanIndexTest, TheTargetsOfLinksAreKept) {
  ASSERT_EQ(symlink("2.jpg", (dir_ / "d/cat/7.jpg").c_str()), 0);
  scan({"cat/7.jpg"});
  auto block = ScanIndex(dir_ / "cache", dir_ / "d").find("cat/");
  size_t hint = 0;
  IndexEntry entry = block->find("7.jpg", hint).value();
  EXPECT_EQ(entry.target, "2.jpg");
  EXPECT_NE(block->stamp().mtime_ns, 0);
  entry.target = "1.jpg";  // not what the link says
  {
    ScanIndex index(dir_ / "cache", dir_ / "d");
    index.put("cat/", block->stamp(), {{"7.jpg", entry}});
  }
  EXPECT_THAT(widths(scan({"cat/7.jpg"})), ElementsAre(21));
}

TEST_F(ScanIndexTest, ADamagedIndexIsAsGoodAsNone) {
  scan(all_);
  mark("cat/", "1.jpg", 500);
  Bytes good = read_file(index_file()).value();
  std::string path = index_file();
  for (size_t cut : {size_t{0}, size_t{10}, good.size() / 2, good.size() - 1}) {
    write_file(path, std::span(good).first(cut));
    EXPECT_THAT(widths(scan(all_)), ElementsAre(20, 21, 22)) << cut;
  }
  // One wrong byte anywhere: right widths or the marked one, never another.
  for (size_t at = 0; at < good.size(); at += 7) {
    Bytes wrong = good;
    wrong[at] ^= 0x41;
    write_file(path, wrong);
    std::vector<int> found = widths(scan(all_));
    ASSERT_EQ(found.size(), 3U);
    EXPECT_TRUE(found[0] == 20 || found[0] == 500) << at;
    EXPECT_EQ(found[1], 21) << at;
    EXPECT_EQ(found[2], 22) << at;
  }
}

TEST_F(ScanIndexTest, WhatIsNotPouncesIsLeftAlone) {
  scan(all_);
  std::string path = index_file(), precious = dir_.put("precious", std::string("precious"));
  write_file(path, std::string_view("of another program"));
  EXPECT_THAT(widths(scan(all_)), ElementsAre(20, 21, 22));
  EXPECT_EQ(read_file(path).value().size(), 18U);
  std::filesystem::remove(path);
  std::filesystem::create_symlink(precious, path);
  EXPECT_THAT(widths(scan(all_)), ElementsAre(20, 21, 22));
  EXPECT_EQ(read_file(precious).value().size(), 8U);
}

TEST_F(ScanIndexTest, WorksWithoutAPlaceForIt) {
  dir_.put("file", std::string("x"));
  for (const std::string& cache : {std::string(), dir_ / "file/cache", dir_ / "d/cache"}) {
    ScanIndex index(cache, dir_ / "d");
    HeaderScan found =
        scan_headers(list(all_), index, {.root = dir_ / "d", .now_ns = file_clock_ns() * 2});
    index.commit();
    EXPECT_THAT(widths(found), ElementsAre(20, 21, 22));
  }
  EXPECT_FALSE(path_exists(dir_ / "d/cache"));
}

TEST_F(ScanIndexTest, AFindStartsAnywhere) {
  IndexEntries entries;
  std::vector<std::string> names = {"b", "d", "f"};
  for (size_t i = 0; i < 3; ++i) {
    entries.emplace_back(
        names[i], IndexEntry{{}, int32_t(i + 1), 1, ImageFormat::Jpeg, IndexVerdict::Usable, {}});
  }
  {
    ScanIndex index(dir_ / "cache", dir_ / "d");
    index.put("cat/", {}, entries);
  }
  auto block = ScanIndex(dir_ / "cache", dir_ / "d").find("cat/");
  for (size_t start = 0; start <= 3; ++start) {
    for (const char* name : {"a", "b", "c", "d", "e", "f", "g"}) {
      size_t hint = start;
      auto found = block->find(name, hint);
      bool is_there = *name == 'b' || *name == 'd' || *name == 'f';
      EXPECT_EQ(found.has_value(), is_there) << name << start;
      if (is_there) {
        EXPECT_EQ(found->width, (*name - 'b') / 2 + 1);
      }
    }
  }
}

// The whole way: scan_dataset leaves its index and finds the same with it.
TEST_F(ScanIndexTest, TheDataSetIsTheSameWithIt) {
  Bytes image = encode_jpeg(pattern_image(9, 9));
  for (int i = 0; i < kFilesWorthAnIndex; ++i) {
    dir_.put("d/cat/more" + std::to_string(i) + ".jpg", image);
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(2200));  // until the files are settled
  ScanOptions options{.root = dir_ / "d", .val_fraction = 0, .cache_folder = dir_ / "cache"};
  std::vector<std::pair<int64_t, int64_t>> seen;
  options.progress = [&](const ScanCount& at) { seen.emplace_back(at.files, at.total); };
  ImageFolder first = scan_dataset(options), second = scan_dataset(options);
  EXPECT_NE(index_file(), "");
  ASSERT_EQ(first.train.size(), 503U);
  for (size_t i = 0; i < first.train.size(); ++i) {
    EXPECT_EQ(second.train.path(i), first.train.path(i));
    EXPECT_EQ(second.train.width(i), first.train.width(i));
  }
  EXPECT_THAT(seen, testing::Contains(std::pair<int64_t, int64_t>(503, 503)));
}

}  // namespace
}  // namespace pounce
