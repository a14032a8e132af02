// --cache and --cache-limit: where images are kept changes no result.
#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/cache_folder.h"
#include "base/error.h"
#include "data/dataset.h"
#include "pounce/options.h"
#include "train/run.h"
#include "train/run_cache.h"

namespace pounce {
namespace {

using namespace test;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class CacheRunTest : public testing::Test {
 protected:
  void SetUp() override {
    copy_digits(dir_ / "data", 3, 20);
    setenv("POUNCE_CACHE_DIR", (dir_ / "cache").c_str(), 1);
  }
  void TearDown() override { unsetenv("POUNCE_CACHE_DIR"); }

  TrainConfig config(CacheMode mode, const std::string& out) const {
    TrainConfig config = small_config(dir_ / "data", dir_ / out);
    config.cache = mode;
    return config;
  }

  static std::vector<std::string> notes_about_caches(const Training& training) {
    std::vector<std::string> notes;
    for (const NoteIssued& note : training.all<NoteIssued>()) {
      if (note.message.find("cache") != std::string::npos) notes.push_back(note.message);
    }
    return notes;
  }

  int image_files() const {
    int count = 0;
    for (const CacheFile& file : list_cache_files(dir_ / "cache")) {
      count += file.header.kind == "images";
    }
    return count;
  }

  TempDir dir_;
};

TEST_F(CacheRunTest, ModelsAreTheSameToTheByteWhateverTheCache) {
  Training none = train(config(CacheMode::None, "none"));
  std::vector<uint8_t> expected = file_bytes(none.end.model);
  EXPECT_THAT(notes_about_caches(none), IsEmpty());
  EXPECT_EQ(file_bytes(train(config(CacheMode::Auto, "auto")).end.model), expected);
  Training ram = train(config(CacheMode::Ram, "ram"));
  EXPECT_EQ(file_bytes(ram.end.model), expected);
  EXPECT_THAT(notes_about_caches(ram),
              ElementsAre(HasSubstr("the run caches 60 of 60 images in ")));
  for (const char* state : {"cold", "warm"}) {
    Training disk = train(config(CacheMode::Disk, state));
    EXPECT_EQ(file_bytes(disk.end.model), expected) << state;
    bool is_warm = std::string_view(state) == "warm";
    EXPECT_THAT(notes_about_caches(disk),
                ElementsAre(HasSubstr(is_warm ? "; 60 lie there" : "; 0 lie there")));
  }
  // Nothing is kept where nobody asked for it.
  EXPECT_EQ(image_files(), 1);
}

TEST_F(CacheRunTest, GoesOnWithoutAFolderToWriteTo) {
  std::string file = dir_.put("file", std::string("x"));
  setenv("POUNCE_CACHE_DIR", (file + "/below").c_str(), 1);
  Training training = train(config(CacheMode::Disk, "out"));
  EXPECT_THAT(notes_about_caches(training), ElementsAre(HasSubstr("no image cache: ")));
  EXPECT_EQ(file_bytes(training.end.model),
            file_bytes(train(config(CacheMode::None, "none")).end.model));
}

TEST_F(CacheRunTest, LeavesNothingAmongTheImages) {
  TrainConfig inside = config(CacheMode::Disk, "out");
  setenv("POUNCE_CACHE_DIR", (inside.data + "/cache").c_str(), 1);
  EXPECT_THAT(notes_about_caches(train(inside)), ElementsAre(HasSubstr("lies inside the images")));
  EXPECT_FALSE(path_exists(inside.data + "/cache"));
}

TEST_F(CacheRunTest, ADryRunMakesNoCache) {
  TrainingRun(config(CacheMode::Disk, "out")).dry_run();
  EXPECT_EQ(image_files(), 0);
}

TEST_F(CacheRunTest, AutoBeginsWhereStepsWaitForImages) {
  TrainConfig auto_config = config(CacheMode::Auto, "out");
  ImageFolder folder = scan_dataset({.root = auto_config.data});
  RunCache cache(auto_config, folder.root, {{folder.train, {}}, {folder.val, {}}});
  EXPECT_THAT(cache.start(0), IsEmpty());
  EXPECT_FALSE(cache.after_epoch({.seconds = 100, .fraction = 0.04, .data_limit = "decode"}));
  EXPECT_FALSE(cache.after_epoch({.seconds = 0.5, .fraction = 0.5, .data_limit = "decode"}));
  EXPECT_FALSE(cache.after_epoch({.seconds = 100, .fraction = 0.5, .data_limit = "transform"}));
  CachedKind kind{};
  EXPECT_FALSE(cache.cache()->wants(folder.train.id(0), 8, 8, 100, &kind));
  auto note = cache.after_epoch({.seconds = 100, .fraction = 0.12, .data_limit = "decode"});
  ASSERT_TRUE(note);
  EXPECT_THAT(*note, HasSubstr("waited for images 12 % of the time: from now on the run caches "
                               "60 of 60 images in "));
  EXPECT_TRUE(cache.cache()->wants(folder.train.id(0), 8, 8, 100, &kind));
  EXPECT_FALSE(cache.after_epoch({.seconds = 100, .fraction = 0.12, .data_limit = "decode"}));
}

TEST_F(CacheRunTest, NoneAsksForNothing) {
  TrainConfig none = config(CacheMode::None, "out");
  RunCache cache(none, none.data, {});
  EXPECT_EQ(cache.cache(), nullptr);
  EXPECT_THAT(cache.start(0), IsEmpty());
  EXPECT_FALSE(cache.after_epoch({.seconds = 100, .fraction = 0.5, .data_limit = "decode"}));
}

const TrainOption& option(std::string_view name) {
  for (const TrainOption& one : train_options()) {
    if (one.name == name) return one;
  }
  throw std::runtime_error("no such option");
}

TEST(CacheOptions, TakeSizesAndPercent) {
  auto text_of = [](const std::string& given) {
    TrainConfig config;
    option("cache-limit").set(config, given);
    std::string text = option("cache-limit").get(config);
    // What is written reads back equal.
    TrainConfig again;
    option("cache-limit").set(again, text.substr(1, text.size() - 2));
    EXPECT_EQ(again.cache_limit, config.cache_limit) << given;
    return text;
  };
  EXPECT_EQ(text_of("4G"), "\"4G\"");
  EXPECT_EQ(text_of("1.5g"), "\"1536M\"");
  EXPECT_EQ(text_of("1000"), "\"1000\"");
  EXPECT_EQ(text_of("12.5%"), "\"12.5%\"");
  EXPECT_EQ(text_of("auto"), "\"auto\"");
  TrainConfig config;
  option("cache-limit").set(config, "4G");
  EXPECT_EQ(config.cache_limit.bytes, int64_t{4} << 30);
  for (const char* wrong : {"", "G", "-1", "0", "4GB", "101%", "%", "nan", "1e30", "4 G", "0.1"}) {
    EXPECT_THROW(option("cache-limit").set(config, wrong), Error) << wrong;
  }
  option("cache").set(config, "disk");
  EXPECT_EQ(config.cache, CacheMode::Disk);
  option("cache").set(config, "shrunk");
  EXPECT_EQ(config.cache, CacheMode::Shrunk);
  EXPECT_EQ(option("cache").get(config), "\"shrunk\"");
  EXPECT_THROW(option("cache").set(config, "dsik"), Error);
}

}  // namespace
}  // namespace pounce
