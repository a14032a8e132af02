// The table of training options: every value survives the way through a config file, and values out
// of range are refused in words.
#include "pounce/options.h"

#include <map>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/config_file.h"
#include "cli/expect_error.h"
#include "cli/flag_table.h"

namespace pounce::cli {
namespace {

using testing::HasSubstr;

// Two allowed and some refused values of every option.
struct Values {
  std::vector<std::string> good, bad;
};

const std::map<std::string, Values>& values() {
  static const std::map<std::string, Values> table = {
      {"model", {{"cnn", "resnet101"}, {"", "vgg", "ResNet18"}}},
      {"init", {{"resnet18.safetensors", "a b/\"狗\".pth"}, {""}}},
      {"init-checksum",
       {{"xxh3:0123456789abcdef", "xxh3:ffffffffffffffff"},
        {"", "0123456789abcdef", "xxh3:0123456789abcde", "xxh3:0123456789ABCDEF"}}},
      {"image-size", {{"8", "4096"}, {"7", "4097", "-3", "64.0", "0x40", "64px"}}},
      {"epochs", {{"1", "100000"}, {"0", "100001", "1e3", "99999999999999999999"}}},
      {"batch-size", {{"1", "65536"}, {"0", "65537", " 64", "64 ", "+64"}}},
      {"optimizer", {{"sgd", "adam"}, {"lion", ""}}},
      {"lr", {{"1e-05", "0", "1000"}, {"-1", "nan", "inf", "0x1p3", "1e-3x", "1000.5", "1e999"}}},
      {"momentum", {{"0", "0.95"}, {"1", "-0.1", "nan"}}},
      {"nesterov", {{"true", "false"}, {"1", "yes", ""}}},
      {"weight-decay", {{"0", "0.0005"}, {"-1", "101", "inf"}}},
      {"warmup-epochs", {{"0", "2.5"}, {"-1", "nan"}}},
      {"schedule", {{"step", "constant"}, {"linear", ""}}},
      {"step-epochs", {{"0.5", "10"}, {"0", "-1", "nan"}}},
      {"step-gamma", {{"0.5", "1"}, {"0", "1.5"}}},
      {"class-weights", {{"balanced", "none"}, {"inverse"}}},
      {"ema", {{"0", "0.999"}, {"1", "-0.1", "nan"}}},
      {"clip-grad", {{"0", "1.5"}, {"-1", "inf"}}},
      {"patience", {{"0", "7"}, {"-1", "1.5", "x"}}},
      {"label-smoothing", {{"0", "0.1"}, {"1", "-0.1"}}},
      {"crop-scale", {{"0.5", "0.08,0.9"}, {"0", "0,1", "0.9,0.5", "0.5,", ",1", "0.5,1.1", "a"}}},
      {"labels", {{"names", "a b/t.csv:file,label"}, {""}}},
      {"augment", {{"none", "light"}, {"strong", ""}}},
      {"precision", {{"fp32", "bf16", "fp16", "auto"}, {"half", "fp8", "FP16"}}},
      {"conv-algorithm", {{"auto", "direct"}, {"winograd", ""}}},
      {"sampler", {{"balanced", "uniform"}, {"weighted"}}},
      {"exif", {{"false", "true"}, {"0", ""}}},
      {"hflip", {{"0", "1"}, {"1.1", "-0.5", "half"}}},
      {"vflip", {{"0.25", "1"}, {"2", ""}}},
      {"fit", {{"letterbox", "stretch"}, {"squash", ""}}},
      {"color-jitter", {{"0.4", "1"}, {"1.5", "-0.1"}}},
      {"random-erasing", {{"0.25", "1"}, {"2", "p"}}},
      {"resize-ratio", {{"0.1", "1"}, {"0", "1.5"}}},
      {"val-fraction", {{"0", "0.99"}, {"1", "-0.1"}}},
      {"on-bad", {{"stop", "skip"}, {"ignore"}}},
      {"seed", {{"0", "18446744073709551615"}, {"-1", "18446744073709551616", "1.5"}}},
      {"workers", {{"auto", "7"}, {"0", "1025", "-1"}}},
      {"threads", {{"3", "auto"}, {"0", "many"}}},
      {"cache", {{"none", "disk"}, {"memory", ""}}},
      {"cache-limit", {{"auto", "4G", "512M", "30%"}, {"0", "-1", "4X", "101%", ""}}},
      {"device",
       {{"cpu", "auto", "gpu", "opencl", "opencl:1", "1"},
        {"mps", "/GPU:0", "0,1", "opencl:x", "-1", "tpu"}}},
      {"out", {{"runs/a b", "\"q\"\\\t猫"}, {""}}},
  };
  return table;
}

TEST(Options, EveryOptionIsTested) {
  std::set<std::string> tested, existing;
  for (const auto& [name, unused] : values()) tested.insert(name);
  for (const TrainOption& option : train_options()) existing.insert(std::string(option.name));
  EXPECT_EQ(tested, existing);
}

TEST(Options, GoodValuesSurviveAConfigFile) {
  for (const TrainOption& option : train_options()) {
    for (const std::string& value : values().at(std::string(option.name)).good) {
      SCOPED_TRACE(std::string(option.name) + " " + value);
      TrainConfig config;
      option.set(config, value);
      Settings read;
      read_config_text(std::string(option.name) + " = " + option.get(config), "test", read);
      EXPECT_EQ(option.get(read.train), option.get(config));
      EXPECT_EQ(to_toml(read.train), to_toml(config));
    }
  }
}

TEST(Options, BadValuesAreRefusedByName) {
  for (const TrainOption& option : train_options()) {
    for (const std::string& value : values().at(std::string(option.name)).bad) {
      SCOPED_TRACE(std::string(option.name) + " " + value);
      TrainConfig config;
      std::string before = to_toml(config);
      Error error = error_of([&] { option.set(config, value); });
      EXPECT_THAT(error.message(), HasSubstr("--" + std::string(option.name)));
      EXPECT_THAT(error.message(), HasSubstr(value));
      EXPECT_THAT(error.message(), HasSubstr("expected"));
      EXPECT_EQ(to_toml(config), before);
    }
  }
}

TEST(Options, MessagesNameWhatIsAllowed) {
  auto message = [](std::string_view name, const std::string& value) {
    for (const TrainOption& option : train_options()) {
      TrainConfig config;
      if (option.name == name) return error_of([&] { option.set(config, value); }).message();
    }
    return std::string();
  };
  EXPECT_EQ(message("batch-size", "0"), "--batch-size 0: expected a whole number from 1 to 65536");
  EXPECT_EQ(message("lr", "nan"), "--lr nan: expected a number from 0 to 1000");
  EXPECT_EQ(message("momentum", "1"), "--momentum 1: expected a number from 0 to below 1");
  EXPECT_EQ(message("hflip", ""), "--hflip (empty): expected a number from 0 to 1");
  EXPECT_EQ(message("workers", "0"), "--workers 0: expected auto or a whole number from 1 to 1024");
}

TEST(Options, ADeviceThatThisBuildLacksIsNoUsageError) {
  TrainConfig config;
  for (const TrainOption& option : train_options()) {
    if (option.name != "device") continue;
    EXPECT_EQ(error_of([&] { option.set(config, "cuda:1"); }).kind(), ErrorKind::Device);
    EXPECT_EQ(error_of([&] { option.set(config, "mps"); }).kind(), ErrorKind::Config);
  }
}

TEST(Options, TomlHoldsTheWholeConfigurationButTheRunFolder) {
  TrainConfig config;
  config.data = "my \"photos\"\\猫";
  config.out = "runs/x";
  config.model = "cnn";
  config.image_size = 32;
  config.epochs = 3;
  config.batch_size = 16;
  config.learning_rate = 0.1 + 0.2;
  config.weight_decay = 1e-300;
  config.seed = ~uint64_t(0);
  std::string text = to_toml(config);
  EXPECT_THAT(text, testing::Not(HasSubstr("runs/x")));
  Settings read;
  read_config_text(text, "test", read);
  EXPECT_EQ(read.train.data, config.data);
  EXPECT_EQ(read.train.learning_rate, config.learning_rate);
  EXPECT_EQ(read.train.weight_decay, config.weight_decay);
  EXPECT_EQ(read.train.seed, config.seed);
  EXPECT_EQ(to_toml(read.train), text);
}

TEST(Options, UnsetValuesStayUnset) {
  Settings read;
  read_config_text(to_toml(TrainConfig()), "test", read);
  EXPECT_FALSE(read.train.epochs.has_value());
  EXPECT_FALSE(read.train.learning_rate.has_value());
}

}  // namespace
}  // namespace pounce::cli
