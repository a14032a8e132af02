// Whole trainings from start weights: what a run with --init promises.
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "expect_error.h"
#include "pounce/options.h"
#include "train/defaults.h"
#include "train/init_samples.h"
#include "train/run.h"

namespace pounce {
namespace {

using namespace test;
using testing::HasSubstr;
using testing::SizeIs;

class InitRun : public testing::Test {
 protected:
  void SetUp() override {
    copy_digits(work_ / "digits", 3, 20);
    start_ = work_.put("start.safetensors", write_safetensors(sample_weights("cnn", 1000)));
  }

  TrainConfig config(const std::string& out) const {
    TrainConfig config = small_config(work_ / "digits", work_ / out);
    config.epochs = 1;
    config.init = start_;
    return config;
  }
  std::string text_of(const std::string& name) const {
    std::ifstream file(work_ / name);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  TempDir work_;
  std::string start_;
};

// With a rate of 0 the weights of the model are those of the file; so are their averages.
TEST_F(InitRun, StartsFromTheFile) {
  TensorFile start = sample_weights("cnn", 1000);
  for (double decay : {0.0, 0.5}) {
    TrainConfig still = config(decay > 0 ? "averaged" : "plain");
    still.learning_rate = 0;
    still.ema_decay = decay;
    Training training = train(still);
    TensorFile model = read_safetensors(file_bytes(training.end.model));
    for (const char* name : {"features.0.weight", "features.6.weight", "features.4.bias"}) {
      std::vector<float> found = floats_in(*model.find(name));
      std::vector<float> expected = floats_in(*start.find(name));
      ASSERT_EQ(found.size(), expected.size());
      for (size_t i = 0; i < found.size(); ++i) ASSERT_FLOAT_EQ(found[i], expected[i]) << name;
    }
    EXPECT_THAT(training.all<WeightsLoaded>(), SizeIs(1));
    EXPECT_THAT(text_of((decay > 0 ? "averaged" : "plain") + std::string("/log.jsonl")),
                HasSubstr("\"loaded\":[\"features.0.weight\","));
  }
}

TEST_F(InitRun, GoesOnFromARunFolderWithItsHead) {
  Training first = train(config("first"));
  EXPECT_EQ(first.all<WeightsLoaded>().at(0).head,
            "head replaced (1,000 classes in the file, 3 here)");
  TrainConfig second = config("second");
  second.init = work_ / "first";
  Training training = train(second);
  EXPECT_EQ(training.all<WeightsLoaded>().at(0).path, work_ / "first/best.safetensors");
  EXPECT_EQ(training.all<WeightsLoaded>().at(0).head, "head kept (3 classes in both)");
}

TEST_F(InitRun, TheRecordedConfigurationRepeatsTheRunOrRefusesAnotherFile) {
  Training first = train(config("first"));
  TrainConfig recorded = first.all<RunBegin>().at(0).config;
  EXPECT_EQ(text_of("first/config.toml"), to_toml(recorded));
  EXPECT_THAT(to_toml(recorded), HasSubstr("init-checksum = \"xxh3:"));
  recorded.out = work_ / "again";
  EXPECT_EQ(file_bytes(train(recorded).end.model), file_bytes(first.end.model));

  TensorFile other = sample_weights("cnn", 1000);
  other.tensors.front().bytes[0] ^= 1;
  work_.put("start.safetensors", write_safetensors(other));
  recorded.out = work_ / "refused";
  EXPECT_ERROR(train(recorded), ErrorKind::Config, "not the recorded one", "--init " + start_);
  // Naming the file anew takes it as it is.
  for (const TrainOption& option : train_options()) {
    if (option.name == "init") option.set(recorded, start_);
  }
  recorded.out = work_ / "anew";
  EXPECT_NE(file_bytes(train(recorded).end.model), file_bytes(first.end.model));
}

TEST_F(InitRun, ARefusedFileLeavesNothingBehind) {
  TrainConfig other = config("other");
  other.init = work_.put("other.safetensors", write_safetensors(sample_weights("resnet18", 3)));
  EXPECT_ERROR(train(other), ErrorKind::Config, "--model resnet18");
  TensorFile file = sample_weights("cnn", 3);
  file.tensors.front().bytes.assign(file.tensors.front().bytes.size(), 0xFF);  // NaN
  other.init = work_.put("nan.safetensors", write_safetensors(file));
  EXPECT_ERROR(train(other), ErrorKind::BadData, "features.0.weight", "nan");
  EXPECT_FALSE(path_exists(work_ / "other"));
}

struct DefaultsRow {
  int images;
  OptimizerKind optimizer;
  int epochs;
  double learning_rate;
};

TEST(InitDefaults, AreShorterAndGentler) {
  const DefaultsRow rows[] = {
      {6400, OptimizerKind::AdamW, 15, 3e-4},  // 100 updates an epoch
      {640, OptimizerKind::Adam, 30, 3e-4},    // 10: 300 in 30 epochs
      {64, OptimizerKind::AdamW, 38, 3e-4 * std::sqrt(1.0 / 8)},
      {16, OptimizerKind::Sgd, 60, 0.015 / 8},  // 2: at most 60 epochs
  };
  for (const DefaultsRow& row : rows) {
    ImageFolder dataset;
    dataset.train = std::vector<Sample>(size_t(row.images));
    TrainConfig config;
    config.init = "start.safetensors";
    config.optimizer = row.optimizer;
    TrainConfig filled = fill_defaults(config, dataset);
    EXPECT_EQ(filled.epochs, row.epochs) << row.images;
    EXPECT_DOUBLE_EQ(*filled.learning_rate, row.learning_rate) << row.images;
    config.learning_rate = 0.01;
    config.epochs = 2;
    filled = fill_defaults(config, dataset);
    EXPECT_EQ(*filled.learning_rate, 0.01);
    EXPECT_EQ(*filled.epochs, 2);
  }
}

}  // namespace
}  // namespace pounce
