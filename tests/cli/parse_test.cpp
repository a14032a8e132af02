// Words of the command line to settings.
#include "cli/parse.h"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "cli/config_file.h"
#include "cli/expect_error.h"
#include "cli/foreign_words.h"
#include "cli/help.h"
#include "cli/temporary_folder.h"
#include "pounce/options.h"

namespace pounce::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Settings parse(const std::string& command, const std::vector<std::string>& words) {
  Invocation invocation = parse_arguments(*find_command(command), words);
  EXPECT_EQ(invocation.action, FlagAction::Set);
  return invocation.settings;
}

Error parse_error(const std::string& command, const std::vector<std::string>& words) {
  Error error = error_of([&] { parse(command, words); });
  EXPECT_EQ(error.kind(), ErrorKind::Config);
  return error;
}

TEST(Parse, FormsOfFlags) {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"photos", "--batch-size", "16"},
                                             {"photos", "--batch-size=16"},
                                             {"-b", "16", "photos"},
                                             {"-b16", "photos"},
                                             {"-qvb16", "photos"},
                                             {"-b", "8", "-b", "16", "--", "photos"}}) {
    Settings settings = parse("train", words);
    EXPECT_EQ(settings.train.batch_size, 16);
    EXPECT_EQ(settings.train.data, "photos");
  }
}

TEST(Parse, SwitchesHaveANegativeForm) {
  EXPECT_TRUE(parse("train", {"x", "--nesterov"}).train.nesterov);
  EXPECT_FALSE(parse("train", {"x", "--nesterov", "--no-nesterov"}).train.nesterov);
  EXPECT_TRUE(parse("train", {"x", "--json=true"}).output.json);
  EXPECT_FALSE(parse("train", {"x", "--json", "--no-json"}).output.json);
  EXPECT_THAT(parse_error("train", {"x", "--no-epochs"}).message(), HasSubstr("--no-epochs"));
  EXPECT_THAT(parse_error("train", {"x", "--no-json=1"}).message(), HasSubstr("found 1"));
}

// Everything that a switch can change, as text.
std::string switched(const Settings& settings) {
  std::string text =
      fmt::format("{} {} {} {} {} {} {} {}", settings.output.json, settings.output.quiet,
                  settings.output.verbose, settings.dry_run, settings.nul_separated,
                  settings.check.quick, settings.check_strict, settings.clear_cache);
  for (const TrainOption& option : train_options()) text += ' ' + option.get(settings.train);
  return text;
}

TEST(Parse, EverySwitchOfEveryCommandHasANegativeForm) {
  for (const Command& command : commands()) {
    std::vector<std::string> arguments;
    if (command.name != "bench step") arguments.push_back("x");
    if (command.name == "predict") arguments.push_back("y");
    auto settings_of = [&](const std::vector<std::string>& flags) {
      std::vector<std::string> words = arguments;
      words.insert(words.end(), flags.begin(), flags.end());
      return switched(parse(command.name, words));
    };
    int switches = 0;
    for (const Flag& flag : command.flags) {
      if (!flag.is_switch() || flag.action != FlagAction::Set) continue;
      SCOPED_TRACE(command.name + " --" + flag.name);
      std::string on = "--" + flag.name, off = "--no-" + flag.name, given = settings_of({});
      EXPECT_NE(settings_of({on}), settings_of({off}));
      EXPECT_EQ(settings_of({on, off}), settings_of({off}));
      EXPECT_EQ(settings_of({off, on}), settings_of({on}));
      EXPECT_TRUE(given == settings_of({on}) || given == settings_of({off}));
      EXPECT_THAT(full_help(command), HasSubstr("Every switch has a --no- form"));
      ++switches;
    }
    EXPECT_GE(switches, 2) << command.name;  // json and quiet at least
  }
}

TEST(Parse, ArgumentsAfterTwoDashesMayLookLikeFlags) {
  EXPECT_EQ(parse("train", {"--", "--epochs"}).train.data, "--epochs");
}

TEST(Parse, MissingValuesAreNamed) {
  EXPECT_EQ(parse_error("train", {"x", "--lr"}).message(),
            "--lr: expected a value, found the end of the line");
  EXPECT_EQ(parse_error("train", {"x", "-b", "--lr", "1"}).message(),
            "-b: expected a value, found the flag --lr");
  // A negative number is a value, and refused as such.
  EXPECT_EQ(parse_error("train", {"x", "--lr", "-1"}).message(),
            "--lr -1: expected a number from 0 to 1000");
}

TEST(Parse, ArgumentsOfCommands) {
  EXPECT_THAT(parse_error("train", {}).message(), HasSubstr("no folder"));
  EXPECT_THAT(parse_error("train", {"my", "photos"}).message(), HasSubstr("found 2: my, photos"));
  Settings eval = parse("eval", {"m", "photos", "--split", "all", "-j3", "--dump", "d"});
  EXPECT_EQ(eval.eval.model, "m");
  EXPECT_EQ(eval.eval.data, "photos");
  EXPECT_EQ(eval.eval.split, SplitChoice::All);
  EXPECT_EQ(eval.eval.workers, 3);
  EXPECT_EQ(eval.dump, "d");
  EXPECT_THAT(parse_error("eval", {}).message(), HasSubstr("a model"));
  EXPECT_THAT(parse_error("eval", {"a", "b", "c"}).message(), HasSubstr("a, b, c"));
  EXPECT_THAT(parse_error("eval", {"m", "--split", "vla"}).hint(), HasSubstr("val"));
  EXPECT_THAT(parse_error("eval", {"m", "-b", "0"}).message(), HasSubstr("1 to 65536"));
  Settings predict = parse("predict", {"m", "-0", "-", "a", "b"});
  EXPECT_TRUE(predict.nul_separated);
  EXPECT_EQ(predict.predict_model, "m");
  EXPECT_THAT(predict.paths, ElementsAre("-", "a", "b"));
  EXPECT_THAT(parse_error("predict", {"m"}).message(), HasSubstr("at least one image"));
}

TEST(Parse, BenchStep) {
  BenchStepConfig bench = parse("bench step", {"--model=cnn", "-b", "8", "--image-size", "32",
                                               "--seconds", "0.5", "--threads", "2"})
                              .bench_step;
  EXPECT_EQ(bench.model, "cnn");
  EXPECT_EQ(bench.batch_size, 8);
  EXPECT_EQ(bench.image_size, 32);
  EXPECT_EQ(bench.seconds, 0.5);
  EXPECT_EQ(bench.threads, 2);
  EXPECT_THAT(parse_error("bench step", {"photos"}).message(), HasSubstr("found photos"));
  EXPECT_THAT(parse_error("bench step", {"--seconds", "0"}).message(), HasSubstr("above 0"));
  EXPECT_THAT(parse_error("bench step", {"--model", "resnet19"}).hint(), HasSubstr("resnet18"));
  EXPECT_THAT(parse_error("bench step", {"--imgsz", "1"}).hint(), HasSubstr("--image-size N"));
}

TEST(Parse, BenchLoader) {
  BenchLoaderConfig bench =
      parse("bench loader", {"photos", "--image-size", "64", "-b", "8", "-j", "3", "--crop-scale",
                             "0.5,0.9", "--epochs", "2", "--seconds", "3"})
          .bench_loader;
  EXPECT_EQ(bench.data, "photos");
  EXPECT_EQ(bench.image_size, 64);
  EXPECT_EQ(bench.batch_size, 8);
  EXPECT_EQ(bench.workers, 3);
  EXPECT_EQ(bench.crop_scale_min, 0.5);
  EXPECT_EQ(bench.crop_scale_max, 0.9);
  EXPECT_EQ(bench.epochs, 2);
  EXPECT_EQ(bench.seconds, 3);
  EXPECT_EQ(parse("bench loader", {"photos", "--crop-scale", "0.5"}).bench_loader.crop_scale_max,
            1);
  EXPECT_THAT(parse_error("bench loader", {}).message(), HasSubstr("found nothing"));
  EXPECT_THAT(parse_error("bench loader", {"a", "b"}).message(), HasSubstr("a, b"));
  EXPECT_THAT(parse_error("bench loader", {"a", "--seconds", "x"}).message(), HasSubstr("above 0"));
}

TEST(Parse, HelpEndsTheReading) {
  const Command& train = *find_command("train");
  EXPECT_EQ(parse_arguments(train, std::vector<std::string>{"-h"}).action, FlagAction::ShortHelp);
  EXPECT_EQ(parse_arguments(train, std::vector<std::string>{"--help", "--nonsense"}).action,
            FlagAction::FullHelp);
  EXPECT_EQ(parse_arguments(train, std::vector<std::string>{"x", "-qV"}).action,
            FlagAction::Version);
}

TEST(Parse, FlagsGoBeforeTheFileAndTheFileBeforeDefaults) {
  TemporaryFolder folder;
  std::string file = folder.path("c.toml");
  write_file(file, "data = \"from-file\"\nepochs = 7\nbatch-size = 32\nnesterov = true\n");
  Settings settings = parse("train", {"--batch-size", "8", "--config", file, "--no-nesterov"});
  EXPECT_EQ(settings.train.data, "from-file");
  EXPECT_EQ(settings.train.epochs, 7);
  EXPECT_EQ(settings.train.batch_size, 8);
  EXPECT_FALSE(settings.train.nesterov);
  EXPECT_FALSE(settings.train.hflip.has_value());
  EXPECT_EQ(parse("train", {"given", "--config", file}).train.data, "given");
}

TEST(Parse, ExplicitValuesGoBeforeThePresetWhateverTheOrder) {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"x", "--augment", "none", "--hflip", "0.25"},
                                             {"x", "--hflip", "0.25", "--augment", "none"}}) {
    TrainConfig config = parse("train", words).train;
    EXPECT_EQ(config.augment, Augment::None);
    EXPECT_EQ(config.hflip, 0.25);
  }
}

TEST(Parse, APresetFlagReplacesTheValuesOfTheFile) {
  TemporaryFolder folder;
  std::string file = folder.path("c.toml");
  write_file(file, "hflip = 0.25\ncrop-scale = [0.5, 1.0]\naugment = \"light\"\n");
  TrainConfig config = parse("train", {"x", "--config", file}).train;
  EXPECT_EQ(config.augment, Augment::Light);
  EXPECT_EQ(config.hflip, 0.25);
  EXPECT_EQ(config.crop_scale_min, 0.5);
  config = parse("train", {"x", "--vflip", "1", "--config", file, "--augment", "none"}).train;
  EXPECT_EQ(config.augment, Augment::None);
  EXPECT_FALSE(config.hflip.has_value());
  EXPECT_FALSE(config.crop_scale_min.has_value());
  EXPECT_EQ(config.vflip, 1.0);
}

TEST(ConfigFile, ErrorsNameFileAndLine) {
  struct Case {
    const char* text;
    const char* message;
    const char* hint;
  };
  const Case cases[] = {
      {"\nepoch = 3\n", "c.toml:2: unknown key epoch", "epochs"},
      {"batch_size = 3\n", "c.toml:1: unknown key batch_size", "batch-size"},
      {"lr = true\n", "c.toml:1: lr true: expected a number from 0 to 1000", ""},
      {"lr = nan\n", "c.toml:1: lr nan: expected a number from 0 to 1000", ""},
      {"epochs = 3.0\n", "c.toml:1: epochs 3.0: expected a whole number from 1 to 100000", ""},
      {"epochs = \"many\"\n", "c.toml:1: epochs many: expected a whole number", ""},
      {"model = 18\n", "c.toml:1: model 18: expected one of cnn", ""},
      {"nesterov = 1\n", "c.toml:1: nesterov 1: expected true or false", ""},
      {"\n\nmodel = \"resnet-50\"\n", "c.toml:3: model resnet-50", "resnet50"},
      {"crop-scale = [[1], 2]\n", "c.toml:1: crop-scale: expected a plain value", ""},
      {"seed = 2020-01-01\n", "c.toml:1: seed: expected a plain value, found a date", ""},
      {"[train]\nepochs = 3\n", "c.toml:1: unknown key train", ""},
      {"epochs 3\n", "c.toml:1: not TOML", "epochs = 30"},
      {"epochs = 3\nepochs = 4\n", "c.toml:2: not TOML", ""},
  };
  for (const Case& one : cases) {
    Settings settings;
    Error error = error_of([&] { read_config_text(one.text, "c.toml", settings); });
    EXPECT_EQ(error.kind(), ErrorKind::Config);
    EXPECT_THAT(error.message(), HasSubstr(one.message));
    EXPECT_THAT(error.hint(), HasSubstr(one.hint));
  }
}

TEST(ConfigFile, FormsOfValues) {
  Settings settings;
  read_config_text("crop-scale = [0.5, 1]\nlr = 1\nseed = \"18446744073709551615\"\nworkers = 3\n",
                   "c.toml", settings);
  EXPECT_EQ(settings.train.crop_scale_min, 0.5);
  EXPECT_EQ(settings.train.crop_scale_max, 1.0);
  EXPECT_EQ(settings.train.learning_rate, 1.0);
  EXPECT_EQ(settings.train.seed, ~uint64_t(0));
  EXPECT_EQ(settings.train.workers, 3);
}

TEST(ConfigFile, MissingFilesAreNamed) {
  TemporaryFolder folder;
  EXPECT_THAT(parse_error("train", {"--config", folder.path("none.toml")}).message(),
              HasSubstr("nothing of this name"));
  EXPECT_THAT(parse_error("train", {"--config", folder.root()}).message(), HasSubstr("a folder"));
}

TEST(ForeignWords, FlagsOfOtherToolsAreTranslated) {
  const std::pair<const char*, const char*> cases[] = {
      {"--imgsz", "--image-size N"},
      {"--img-size", "--image-size N"},
      {"--batch", "--batch-size N"},
      {"--opt", "--optimizer NAME"},
      {"--lr0", "--lr X"},
      {"--num-workers", "--workers N"},
      {"--num_workers", "--workers N"},
      {"--data", "beside the flags: pounce train [DIR]"},
      {"--project", "--out DIR"},
      {"--validation-split", "--val-fraction X"},
      {"--smoothing", "--label-smoothing X"},
      {"--pretrained", "--init FILE.safetensors"},
      {"--amp", "--precision"},
      {"--no-amp", "--precision"},
      {"--reprob", "--random-erasing P"},
      {"--crop-mode", "--fit WORD"},
      {"--resume-from", "--config RUN/config.toml"},
      {"--epoch", "did you mean --epochs?"},
      {"--no-jsno", "--no-json"},
      {"--dump", "a flag of pounce eval"},
      {"--zzzzzz", "pounce train -h"},
      {"-lr", "--lr X"},
  };
  for (const auto& [word, hint] : cases) {
    Error error = parse_error("train", {"x", word, "1"});
    EXPECT_THAT(error.message(), HasSubstr(word));
    EXPECT_THAT(error.hint(), HasSubstr(hint)) << word;
  }
}

TEST(ForeignWords, WhatStandsBesideTheFlagsIsTheCommandsOwn) {
  EXPECT_THAT(parse_error("inspect", {"--data", "x"}).hint(), HasSubstr("pounce inspect MODEL"));
  EXPECT_THAT(parse_error("eval", {"m", "--data-dir", "x"}).hint(), HasSubstr("eval MODEL [DIR]"));
  EXPECT_THAT(parse_error("bench step", {"--data", "x"}).hint(), HasSubstr("reads no images"));
}

TEST(ForeignWords, DevicesOfOtherTools) {
  const std::pair<const char*, const char*> cases[] = {
      {"mps", "Apple GPUs"}, {"/GPU:0", "TensorFlow's word"}, {"0,1", "one device"}};
  for (const auto& [word, hint] : cases) {
    Error error = parse_error("train", {"x", "--device", word});
    EXPECT_THAT(error.message(), HasSubstr(word));
    EXPECT_THAT(error.hint(), HasSubstr(hint)) << word;
  }
}

TEST(ForeignWords, AssignmentsBecomeFlags) {
  EXPECT_EQ(parse_error("train", {"epochs=10", "x"}).hint(), "write --epochs 10");
  EXPECT_EQ(parse_error("train", {"imgsz=64", "x"}).hint(), "write --image-size 64");
  EXPECT_EQ(parse("train", {"photos=2020"}).train.data, "photos=2020");
}

TEST(ForeignWords, Commands) {
  const std::pair<const char*, const char*> cases[] = {{"trian", "did you mean pounce train?"},
                                                       {"Predict", "did you mean pounce predict?"},
                                                       {"validate", "it is pounce eval"},
                                                       {"fit", "it is pounce train"},
                                                       {"zzzzz", "pounce -h"},
                                                       {"bnch", "did you mean pounce bench?"},
                                                       {"bench stpe", "pounce bench step?"},
                                                       {"/", "pounce train /"}};
  for (const auto& [word, hint] : cases) {
    Error error = error_of([&] { fail_unknown_command(word); });
    EXPECT_EQ(error.kind(), ErrorKind::Config);
    EXPECT_THAT(error.hint(), HasSubstr(hint)) << word;
  }
}

}  // namespace
}  // namespace pounce::cli
