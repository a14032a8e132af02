// `pounce cache` as users run it.
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/cache_folder.h"
#include "base/file.h"
#include "cli/process.h"

namespace pounce::cli {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

class CacheCommandTest : public testing::Test {
 protected:
  void SetUp() override { setenv("POUNCE_CACHE_DIR", cache().c_str(), 1); }
  void TearDown() override { unsetenv("POUNCE_CACHE_DIR"); }

  std::string cache() const { return folder_.path("cache"); }

  std::string put(const std::string& kind, const std::string& root, int days) const {
    CacheHeader header{.kind = kind, .version = 1, .root = root, .rule = ""};
    std::filesystem::create_directories(cache());
    std::string path = cache_file_path(cache(), header);
    std::vector<uint8_t> bytes = encode_cache_header(header);
    bytes.resize(100'000, 1);
    write_file(path, bytes);
    std::filesystem::last_write_time(
        path, std::filesystem::file_time_type::clock::now() - std::chrono::hours(24 * days));
    return path;
  }

  Outcome run(std::vector<std::string> words) const {
    words.insert(words.begin(), "cache");
    Outcome outcome = Process(words, folder_.root()).finish();
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    return outcome;
  }

  TemporaryFolder folder_;
};

TEST_F(CacheCommandTest, SaysThatNothingIsThere) {
  EXPECT_THAT(run({}).out, HasSubstr("nothing is cached in " + cache()));
  EXPECT_EQ(run({"--clear"}).out, "nothing to remove\n");
  EXPECT_FALSE(path_exists(cache()));
  EXPECT_EQ(json::parse(run({"--json"}).out)["files"], json::array());
}

TEST_F(CacheCommandTest, ListsByDataSetAndAge) {
  put("images", "/photos", 3);
  put("index", "/photos/2024", 40);
  put("index", "/photos2", 0);
  write_file(cache() + "/notes.txt", std::string_view("mine"));
  std::string out = run({}).out;
  EXPECT_THAT(out, HasSubstr("/photos/2024"));
  EXPECT_THAT(out, HasSubstr("3 d 0 h ago"));
  EXPECT_THAT(out, HasSubstr("3 files, "));
  EXPECT_THAT(out, Not(HasSubstr("notes")));
  EXPECT_THAT(run({"/photos"}).out, HasSubstr("2 files, "));
  EXPECT_THAT(run({"--older-than", "2.5"}).out, HasSubstr("2 files, "));
  json object = json::parse(run({"/photos2", "--json"}).out);
  EXPECT_EQ(object["files"][0]["kind"], "index");
  EXPECT_EQ(object["files"][0]["data"], "/photos2");
  EXPECT_EQ(object["bytes"], object["files"][0]["bytes"]);
  EXPECT_GE(object["bytes"], 100'000);
  EXPECT_GT(object["images_limit"], 0);
}

TEST_F(CacheCommandTest, ClearsWhatIsSelectedAndPounceWrote) {
  std::string images = put("images", "/photos", 3), index = put("index", "/photos", 40);
  std::string other = put("index", "/other", 40);
  std::string notes = cache() + "/images-0.pounce";
  write_file(notes, std::string_view("mine"));
  EXPECT_THAT(run({"--clear", "--older-than", "30", "/photos"}).out, HasSubstr("removed 1 file, "));
  EXPECT_TRUE(path_exists(images) && !path_exists(index) && path_exists(other));
  EXPECT_EQ(json::parse(run({"--clear", "--json"}).out)["removed"], true);
  EXPECT_TRUE(!path_exists(images) && !path_exists(other) && path_exists(notes));
}

TEST_F(CacheCommandTest, RefusesWhatItDoesNotUnderstand) {
  EXPECT_EQ(Process({"cache", "a", "b"}, folder_.root()).finish().exit_code, 2);
  // A shell variable that is not set must not clear everything.
  EXPECT_EQ(Process({"cache", "", "--clear"}, folder_.root()).finish().exit_code, 2);
  EXPECT_EQ(Process({"cache", "--older-than", "-1"}, folder_.root()).finish().exit_code, 2);
}

}  // namespace
}  // namespace pounce::cli
