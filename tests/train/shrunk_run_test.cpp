// --cache shrunk: a rule of preprocessing that the model carries, and that no cache changes.
#include <cstdlib>
#include <map>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/cache_folder.h"
#include "pounce/evaluate.h"
#include "pounce/inspect.h"
#include "pounce/options.h"
#include "pounce/predict.h"
#include "train/model_file.h"
#include "train/run.h"

namespace pounce {
namespace {

using namespace test;
using testing::Contains;
using testing::HasSubstr;

constexpr int kClasses = 3, kImages = 20;
constexpr int kShrink = 12;  // of the small configuration's 8 pixels

void append_le(std::vector<uint8_t>& bytes, uint32_t value, int count) {
  for (int i = 0; i < count; ++i) bytes.push_back(uint8_t(value >> (8 * i)));
}

// A BMP of noise around the level of its class.
std::vector<uint8_t> noise_bmp(int width, int height, int label, uint32_t seed) {
  uint32_t stride = uint32_t(width * 3 + 3) / 4 * 4, pixels = stride * uint32_t(height);
  std::vector<uint8_t> bytes = {'B', 'M'};
  for (uint32_t field : {54 + pixels, 0U, 54U, 40U, uint32_t(width), uint32_t(height)}) {
    append_le(bytes, field, 4);
  }
  append_le(bytes, 1, 2);
  append_le(bytes, 24, 2);
  for (uint32_t field : {0U, pixels, 2835U, 2835U, 0U, 0U}) append_le(bytes, field, 4);
  for (uint32_t i = 0; i < pixels; ++i) {
    seed = seed * 1'664'525 + 1'013'904'223;
    bytes.push_back(uint8_t(uint32_t(label) * 50 + (seed >> 24) / 2));
  }
  return bytes;
}

class ShrunkRunTest : public testing::Test {
 protected:
  void SetUp() override {
    use_cache(dir_ / "cache");
    for (int label = 0; label < kClasses; ++label) {
      for (int i = 0; i < kImages; ++i) {
        // Every fifth is small enough as it is.
        int width = i % 5 == 0 ? 10 : 30 + i, height = i % 5 == 0 ? 12 : 50 - i;
        auto bytes = noise_bmp(width, height, label, uint32_t(label * 1000 + i));
        dir_.put(fmt::format("data/{}/{}.bmp", label, i), bytes);
      }
    }
  }
  void TearDown() override { unsetenv("POUNCE_CACHE_DIR"); }

  static void use_cache(const std::string& folder) {
    setenv("POUNCE_CACHE_DIR", folder.c_str(), 1);
  }

  TrainConfig config(CacheMode mode, const std::string& out) const {
    TrainConfig config = small_config(dir_ / "data", dir_ / out);
    config.cache = mode;
    config.epochs = 3;
    return config;
  }

  int image_files() const {
    int count = 0;
    for (const CacheFile& file : list_cache_files(dir_ / "cache")) {
      count += file.header.kind == "images";
    }
    return count;
  }

  static std::vector<std::string> notes(const Training& training) {
    std::vector<std::string> notes;
    for (const NoteIssued& note : training.all<NoteIssued>()) notes.push_back(note.message);
    return notes;
  }

  // Of the images that the run held back, by path.
  static std::map<std::string, std::vector<float>> logits_of(const std::string& run) {
    std::map<std::string, std::vector<float>> logits;
    EvalConfig eval;
    eval.model = run;
    evaluate(eval, [&](const EvalRecord& image) { logits[image.path] = image.logits; });
    return logits;
  }

  TempDir dir_;
};

TEST_F(ShrunkRunTest, ModelsAreTheSameColdWarmAndWithoutAFolder) {
  Training cold = train(config(CacheMode::Shrunk, "cold"));
  std::vector<uint8_t> expected = file_bytes(cold.end.model);
  std::string rule = "pictures are first reduced to a short side of 12, a rule of the model; ";
  EXPECT_THAT(notes(cold), Contains(HasSubstr(rule + "the run caches 60 of 60 images in ")));
  EXPECT_THAT(notes(cold), Contains(HasSubstr("; 0 lie there already")));
  Training warm = train(config(CacheMode::Shrunk, "warm"));
  EXPECT_EQ(file_bytes(warm.end.model), expected);
  EXPECT_THAT(notes(warm), Contains(HasSubstr("; 60 lie there already")));

  TrainConfig part = config(CacheMode::Shrunk, "part");
  part.workers = 4;
  part.cache_limit = {.bytes = 200'000};
  use_cache(dir_ / "other");
  EXPECT_EQ(file_bytes(train(part).end.model), expected);

  use_cache(dir_.put("file", std::string("x")) + "/below");
  Training bare = train(config(CacheMode::Shrunk, "bare"));
  EXPECT_EQ(file_bytes(bare.end.model), expected);
  EXPECT_THAT(notes(bare), Contains(HasSubstr(rule + "no image cache: ")));
  EXPECT_THAT(notes(bare), Contains(HasSubstr("is decoded and reduced again in each epoch")));
}

TEST_F(ShrunkRunTest, TheRuleIsRecordedAndItsPicturesServeNoOther) {
  Training shrunk = train(config(CacheMode::Shrunk, "shrunk"));
  Training disk = train(config(CacheMode::Disk, "disk"));
  Training none = train(config(CacheMode::None, "none"));
  EXPECT_EQ(load_model(shrunk.end.model).info.shrink, kShrink);
  EXPECT_EQ(load_model(none.end.model).info.shrink, 0);
  EXPECT_EQ(inspect_model(shrunk.end.model).description->shrink, kShrink);
  EXPECT_EQ(file_bytes(disk.end.model), file_bytes(none.end.model));
  EXPECT_NE(load_model(shrunk.end.model).tensors.tensors.at(0).bytes,
            load_model(none.end.model).tensors.tensors.at(0).bytes);
  EXPECT_EQ(image_files(), 2);
  // Another size, another rule.
  TrainConfig larger = config(CacheMode::Shrunk, "larger");
  larger.image_size = 9;
  EXPECT_EQ(load_model(train(larger).end.model).info.shrink, 14);
  EXPECT_EQ(image_files(), 3);
}

TEST_F(ShrunkRunTest, TheRecordedConfigurationRepeatsTheRun) {
  Training training = train(config(CacheMode::Shrunk, "run"));
  TrainConfig recorded = training.all<RunBegin>().at(0).config;
  std::vector<uint8_t> toml = file_bytes(dir_ / "run/config.toml");
  EXPECT_THAT(std::string(toml.begin(), toml.end()), HasSubstr("cache = \"shrunk\""));
  recorded.out = dir_ / "again";
  EXPECT_EQ(file_bytes(train(recorded).end.model), file_bytes(training.end.model));
}

TEST_F(ShrunkRunTest, EvaluationAndPredictionFollowTheModel) {
  Training training = train(config(CacheMode::Shrunk, "run"));
  EvalConfig eval;
  eval.model = dir_ / "run";
  EvalResult result = evaluate(eval);
  EXPECT_EQ(result.images, training.all<RunBegin>().at(0).val_images);
  EXPECT_DOUBLE_EQ(result.accuracy, *training.end.best_val_accuracy);
  for (const EpochEnd& epoch : training.all<EpochEnd>()) {
    if (epoch.epoch == training.end.best_epoch) {
      EXPECT_DOUBLE_EQ(result.loss, *epoch.val_loss);
    }
  }

  auto logits = logits_of(dir_ / "run");
  ASSERT_GT(logits.size(), 3U);
  Predictor predictor(training.end.model);
  for (const auto& [path, expected] : logits) {
    predictor.predict({dir_ / ("data/" + path)}, [&, &expected = expected](const Prediction& one) {
      EXPECT_EQ(one.logits, expected) << one.path;
    });
  }

  // The rule is what makes them so.
  ModelFile model = load_model(training.end.model);
  model.info.shrink = 0;
  ModelFile plain = make_model_file(model.info);
  plain.tensors.tensors = model.tensors.tensors;
  save_model(training.end.model, plain);
  EXPECT_NE(logits_of(dir_ / "run"), logits);
}

}  // namespace
}  // namespace pounce
