#include "base/cache_folder.h"

#include <cstdlib>
#include <filesystem>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/shared_file.h"
#include "base/system.h"
#include "base/temp_dir.h"

namespace pounce {
namespace {

using test::TempDir;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

// Sets environment variables and puts back what they were.
class Environment {
 public:
  void set(const char* name, const char* value) {
    const char* old = std::getenv(name);
    before_.push_back({name, old ? std::optional<std::string>(old) : std::nullopt});
    value ? setenv(name, value, 1) : unsetenv(name);
  }
  ~Environment() {
    for (auto at = before_.rbegin(); at != before_.rend(); ++at) {
      at->second ? setenv(at->first, at->second->c_str(), 1) : unsetenv(at->first);
    }
  }

 private:
  std::vector<std::pair<const char*, std::optional<std::string>>> before_;
};

const CacheHeader kHeader{.kind = "images", .version = 3, .root = "/a/图片", .rule = "exif"};

TEST(CacheHeader, ComesBackAndDoesNotBearAFlippedByte) {
  std::vector<uint8_t> bytes = encode_cache_header(kHeader);
  EXPECT_EQ(bytes.size() % 64, 0U);
  size_t used = bytes.size();
  bytes.push_back(9);  // the content
  auto decoded = decode_cache_header(bytes);
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->bytes, used);
  EXPECT_EQ(decoded->header.kind, "images");
  EXPECT_EQ(decoded->header.version, 3U);
  EXPECT_EQ(decoded->header.root, kHeader.root);
  EXPECT_EQ(decoded->header.rule, "exif");
  for (size_t i = 0; i < used; ++i) {
    bytes[i] ^= 0x10;
    EXPECT_FALSE(decode_cache_header(bytes)) << i;
    bytes[i] ^= 0x10;
    EXPECT_FALSE(decode_cache_header(std::span(bytes).first(i))) << i;
  }
}

TEST(CacheFolder, IsWhereTheEnvironmentSays) {
  Environment environment;
  environment.set("HOME", "/home/me");
  environment.set("XDG_CACHE_HOME", nullptr);
  environment.set("POUNCE_CACHE_DIR", nullptr);
  EXPECT_EQ(cache_folder(), "/home/me/.cache/pounce");
  environment.set("XDG_CACHE_HOME", "/x");
  EXPECT_EQ(cache_folder(), "/x/pounce");
  environment.set("XDG_CACHE_HOME", "relative");
  EXPECT_EQ(cache_folder(), "/home/me/.cache/pounce");
  environment.set("POUNCE_CACHE_DIR", "/p");
  EXPECT_EQ(cache_folder(), "/p");
  environment.set("POUNCE_CACHE_DIR", "");
  environment.set("HOME", nullptr);
  EXPECT_EQ(cache_folder(), "");
}

TEST(CacheFolder, IsForThisUserAlone) {
  TempDir dir;
  std::string folder = dir / "a/b/pounce";
  make_cache_folder(folder);
  make_cache_folder(folder);
  struct stat status {};
  ASSERT_EQ(::stat(folder.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700U);
  std::string file = dir.put("file", std::string("x"));
  EXPECT_THROW(make_cache_folder(file), Error);
  EXPECT_THROW(make_cache_folder(file + "/below"), Error);
}

TEST(CacheFolder, ListsAndRemovesOnlyItsOwn) {
  TempDir dir;
  EXPECT_THAT(list_cache_files(dir / "none"), IsEmpty());
  std::string path = cache_file_path(dir.path(), kHeader);
  EXPECT_THAT(path, StartsWith(dir / "images-"));
  std::vector<uint8_t> content = encode_cache_header(kHeader);
  write_file(path, content);
  std::string damaged = dir.put("damaged", std::string("POUNCE\n\0 and nothing else", 20));
  std::string foreign = dir.put("images-foreign.pounce", std::string("POUNCE 3 tickets"));
  std::string link = dir / "link";
  std::filesystem::create_symlink(path, link);
  dir.make_folder("folder");
  std::vector<CacheFile> files = list_cache_files(dir.path());
  ASSERT_EQ(files.size(), 2U);
  EXPECT_EQ(files[0].path, damaged);
  EXPECT_EQ(files[0].header.root, "");
  EXPECT_EQ(files[1].path, path);
  EXPECT_EQ(files[1].header.root, kHeader.root);
  EXPECT_GE(files[1].bytes, content.size());
  EXPECT_TRUE(may_replace_cache_file(path) && may_replace_cache_file(dir / "none"));
  EXPECT_FALSE(may_replace_cache_file(foreign) || may_replace_cache_file(link) ||
               may_replace_cache_file(dir / "folder"));
  EXPECT_FALSE(remove_cache_file(foreign));
  EXPECT_FALSE(remove_cache_file(link));
  EXPECT_TRUE(path_exists(foreign) && path_exists(path));
  EXPECT_TRUE(remove_cache_file(path));
  EXPECT_FALSE(remove_cache_file(path));
}

TEST(CacheFolder, RemembersTheLastUse) {
  TempDir dir;
  std::string path = dir.put("a", encode_cache_header(kHeader));
  timespec old[2] = {{1000, 0}, {1000, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), old, 0), 0);
  EXPECT_EQ(list_cache_files(dir.path()).at(0).last_used_ns, 1'000'000'000'000);
  mark_cache_file_used(path);
  EXPECT_GT(list_cache_files(dir.path()).at(0).last_used_ns, 1'600'000'000'000'000'000);
}

TEST(SharedFile, IsLockedByOneAndReadByAll) {
  TempDir dir;
  std::string path = dir / "f";
  EXPECT_FALSE(SharedFile::open(path));
  SharedFile writer = SharedFile::open_or_create(path).value();
  SharedFile other = SharedFile::open_or_create(path).value();
  EXPECT_TRUE(writer.try_lock());
  EXPECT_FALSE(other.try_lock());
  std::vector<uint8_t> bytes(10'000);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = uint8_t(i * 7);
  ASSERT_TRUE(writer.write_at(0, bytes));
  ASSERT_TRUE(writer.write_at(20'000, std::span(bytes).first(5)));
  EXPECT_EQ(other.size().value(), 20'005U);
  auto mapped = other.map(5'001, 4'999);
  ASSERT_TRUE(mapped);
  EXPECT_TRUE(std::equal(bytes.begin() + 5'001, bytes.end(), (*mapped)->bytes().begin()));
  EXPECT_FALSE(other.map(20'000, 6));
  EXPECT_FALSE(other.map(30'000, 1));
  EXPECT_TRUE(other.is_at_its_path());
  remove_file(path);
  EXPECT_FALSE(other.is_at_its_path());
  EXPECT_EQ((*mapped)->bytes()[0], uint8_t(5'001 * 7));
  { SharedFile gone = std::move(writer); }
  EXPECT_TRUE(other.try_lock());
}

TEST(SharedFile, RefusesLinksAndFolders) {
  TempDir dir;
  std::string path = dir.put("f", std::string("x")), link = dir / "l";
  std::filesystem::create_symlink(path, link);
  EXPECT_FALSE(SharedFile::open(link));
  EXPECT_FALSE(SharedFile::open_or_create(link));
  EXPECT_THAT(SharedFile::open(dir.path()).error().message(), HasSubstr("not a regular file"));
}

TEST(System, KnowsWhatIsFree) {
  EXPECT_GT(available_memory_bytes(), 1 << 20);
  EXPECT_LE(available_memory_bytes(), total_memory_bytes());
  TempDir dir;
  EXPECT_GT(free_disk_bytes(dir.path()), 1 << 20);
  EXPECT_GT(free_disk_bytes(dir / "none/below"), 1 << 20);
  EXPECT_GE(total_disk_bytes(dir.path()), free_disk_bytes(dir.path()));
}

}  // namespace
}  // namespace pounce
