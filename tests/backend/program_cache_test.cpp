// Compiled programs on disk: found by everything they depend on, and never trusted.
#include "backend/gpu/program_cache.h"

#include <algorithm>
#include <cstring>
#include <filesystem>

#include <gtest/gtest.h>

#include "base/cache_folder.h"
#include "base/checksum.h"
#include "base/file.h"
#include "base/temp_dir.h"

namespace pounce {
namespace {

using Binary = std::vector<uint8_t>;

const ProgramKey kKey = {"kernel text", "-O2", "a device", "1.0"};
const Binary kBinary = {1, 2, 3, 4, 5};

class ProgramCacheTest : public testing::Test {
 protected:
  std::string only_file() const {
    std::vector<CacheFile> files = list_cache_files(folder_);
    EXPECT_EQ(files.size(), 1u);
    return files.at(0).path;
  }

  test::TempDir temporary_;
  std::string folder_ = temporary_ / "cache";
  ProgramCache cache_{folder_};
};

TEST_F(ProgramCacheTest, GivesBackWhatWasStored) {
  EXPECT_EQ(cache_.load(kKey), std::nullopt);
  cache_.store(kKey, kBinary);
  EXPECT_EQ(cache_.load(kKey), kBinary);
  EXPECT_EQ(list_cache_files(folder_).at(0).header.kind, "kernels");
  auto rights = std::filesystem::status(folder_).permissions();
  EXPECT_EQ(rights, std::filesystem::perms::owner_all);
}

TEST_F(ProgramCacheTest, TellsApartWhatAProgramDependsOn) {
  cache_.store(kKey, kBinary);
  for (std::string ProgramKey::*part :
       {&ProgramKey::text, &ProgramKey::options, &ProgramKey::device, &ProgramKey::driver}) {
    ProgramKey other = kKey;
    other.*part += "!";
    EXPECT_EQ(cache_.load(other), std::nullopt);
  }
}

// Cut off anywhere, and with any byte changed, a file counts as not there.
TEST_F(ProgramCacheTest, IgnoresDamagedFiles) {
  cache_.store(kKey, kBinary);
  std::string name = "cache/" + std::string(base_name(only_file()));
  const std::vector<uint8_t> whole = read_file(temporary_ / name).value();
  for (size_t i = 0; i < whole.size(); ++i) {
    temporary_.put(name, std::string(whole.begin(), whole.begin() + std::ptrdiff_t(i)));
    EXPECT_EQ(cache_.load(kKey), std::nullopt) << "cut at " << i;
    std::vector<uint8_t> changed = whole;
    changed[i] ^= 0x10;
    temporary_.put(name, changed);
    EXPECT_EQ(cache_.load(kKey), std::nullopt) << "changed at " << i;
  }
  cache_.store(kKey, kBinary);  // and is replaced
  EXPECT_EQ(cache_.load(kKey), kBinary);
}

// A file that is whole in itself, under the right name and header, but of another text: what two
// texts of equal hash would make.
TEST_F(ProgramCacheTest, ComparesTheWholeText) {
  cache_.store(kKey, kBinary);
  std::string path = only_file();
  std::vector<uint8_t> content = read_file(path).value();
  auto text = std::search(content.begin(), content.end(), kKey.text.begin(), kKey.text.end());
  ASSERT_NE(text, content.end());
  *text = 'K';
  uint64_t checksum = xxh3_64(std::span<const uint8_t>(text, content.end()));
  std::memcpy(&*text - sizeof checksum, &checksum, sizeof checksum);
  write_file(path, content);
  EXPECT_EQ(cache_.load(kKey), std::nullopt);
  *text = kKey.text[0];
  checksum = xxh3_64(std::span<const uint8_t>(text, content.end()));
  std::memcpy(&*text - sizeof checksum, &checksum, sizeof checksum);
  write_file(path, content);
  EXPECT_EQ(cache_.load(kKey), kBinary);
}

TEST_F(ProgramCacheTest, WorksWithoutAFolder) {
  ProgramCache none("");
  none.store(kKey, kBinary);
  EXPECT_EQ(none.load(kKey), std::nullopt);
  ProgramCache impossible(temporary_.put("file", std::string("x")) + "/cache");
  impossible.store(kKey, kBinary);
  EXPECT_EQ(impossible.load(kKey), std::nullopt);
}

TEST_F(ProgramCacheTest, LeavesFilesOfOthersAlone) {
  cache_.store(kKey, kBinary);
  std::string path = only_file();
  write_file(path, std::string_view("somebody's notes"));
  cache_.store(kKey, kBinary);
  EXPECT_EQ(cache_.load(kKey), std::nullopt);
  EXPECT_EQ(read_file(path).value().size(), 16u);
}

TEST_F(ProgramCacheTest, KeepsWithinItsLimit) {
  constexpr uint64_t kLimit = 64 << 10;
  ProgramCache small(folder_, kLimit);
  ProgramKey key = kKey;
  for (int i = 0; i < 10; ++i) {
    key.text = std::to_string(i);
    small.store(key, Binary(20'000, uint8_t(i)));
    uint64_t total = 0;
    for (const CacheFile& file : list_cache_files(folder_)) total += file.bytes;
    EXPECT_LE(total, kLimit);
  }
  EXPECT_EQ(small.load(key), Binary(20'000, 9));  // the newest stays
}

}  // namespace
}  // namespace pounce
