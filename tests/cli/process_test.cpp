// The program from outside: exit codes, streams, bad input, signals, pipes.
#include "cli/process.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/file.h"

namespace pounce::cli {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

// A folder with a small data set of two classes, digits/0 and digits/1.
class SmallDigits : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"0", "1"}) {
      fs::create_directories(work_.path("digits/") + name);
      int copied = 0;
      std::vector<fs::path> files;
      for (const auto& entry : fs::directory_iterator(source() + name)) files.push_back(entry);
      std::sort(files.begin(), files.end());
      for (const fs::path& file : files) {
        if (++copied > 40) break;
        fs::copy_file(file, fs::path(work_.path("digits")) / name / file.filename());
      }
    }
  }

  static std::string source() { return POUNCE_SOURCE_DIR "/samples/digits/"; }

  Outcome run(const std::vector<std::string>& words) const {
    return run_pounce(words, work_.root());
  }

  // A short training; the path of its model.
  std::string train(std::vector<std::string> more = {}) const {
    std::vector<std::string> words = {"train", "digits",    "--model", "cnn",      "--image-size",
                                      "16",    "--threads", "1",       "--epochs", "1"};
    words.insert(words.end(), more.begin(), more.end());
    Outcome outcome = run(words);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return outcome.last_line();
  }

  // Files that were never given their final name.
  std::vector<std::string> unfinished_files() const {
    std::vector<std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(work_.root())) {
      std::string name = entry.path().filename();
      if (name.find(".tmp") != std::string::npos) found.push_back(entry.path());
    }
    return found;
  }

  TemporaryFolder work_;
};

TEST(Process, Version) {
  Outcome outcome = run_pounce({"--version"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.out, "pounce " POUNCE_VERSION "\n");
  EXPECT_EQ(outcome.err, "");
}

TEST(Process, NoArgumentsAreWrongUsage) {
  Outcome outcome = run_pounce({});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, StartsWith("usage: pounce"));
}

TEST(Process, HelpGoesToStandardOutput) {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"-h"}, {"--help"}, {"help"}, {"help", "train"}, {"train", "-h"}, {"eval", "--help"}}) {
    Outcome outcome = run_pounce(words);
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_THAT(outcome.out, HasSubstr("usage: pounce"));
    EXPECT_EQ(outcome.err, "");
  }
}

TEST(Process, UnknownCommand) {
  Outcome outcome = run_pounce({"trian", "photos"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, StartsWith("pounce: error: unknown command trian"));
  EXPECT_THAT(outcome.err, HasSubstr("hint: did you mean pounce train?"));
}

TEST(Process, HelpTakesNoMoreThanACommand) {
  EXPECT_EQ(run_pounce({"help", "help"}).out, run_pounce({"-h"}).out);
  EXPECT_EQ(run_pounce({"help", "train", "-h"}).out, run_pounce({"train", "--help"}).out);
  EXPECT_EQ(run_pounce({"-h", "train"}).out, run_pounce({"train", "--help"}).out);
  const std::pair<std::vector<std::string>, const char*> cases[] = {
      {{"help", "train", "extra"}, "help train: expected nothing after it, found extra"},
      {{"help", "bench", "step", "x", "y"},
       "help bench step: expected nothing after it, found x y"},
      {{"help", "trian"}, "unknown command trian"},
      {{"--completions", "bash", "extra"}, "--completions bash: expected nothing after it"},
      {{"--completions"}, "expected one of bash, zsh, fish"},
      {{"--version", "now"}, "--version: expected nothing after it, found now"},
      {{"--help-man", "3"}, "--help-man: expected nothing after it, found 3"}};
  for (const auto& [words, message] : cases) {
    Outcome outcome = run_pounce(words);
    EXPECT_EQ(outcome.exit_code, 2) << message;
    EXPECT_EQ(outcome.out, "");
    EXPECT_THAT(outcome.err, HasSubstr(message));
  }
}

TEST(Process, CommandsOfTwoWords) {
  Outcome alone = run_pounce({"bench"});
  EXPECT_EQ(alone.exit_code, 2);
  EXPECT_THAT(alone.err, HasSubstr("expected one of bench step"));
  Outcome unknown = run_pounce({"bench", "stpe", "--json"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("hint: did you mean pounce bench step?"));
  EXPECT_EQ(nlohmann::json::parse(unknown.out)["kind"], "config");
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"bench", "-h"}, {"bench", "--help"}, {"help", "bench"}, {"help", "bench", "-h"}}) {
    Outcome group = run_pounce(words);
    EXPECT_EQ(group.exit_code, 0);
    EXPECT_THAT(group.out, StartsWith("usage: pounce bench COMMAND"));
    EXPECT_THAT(group.out, HasSubstr("pounce bench step"));
  }
  EXPECT_EQ(run_pounce({"help", "bench", "step"}).out, run_pounce({"bench", "step", "--help"}).out);
  Outcome flag = run_pounce({"bench", "--json"});
  EXPECT_EQ(flag.exit_code, 2);
  EXPECT_THAT(flag.err,
              HasSubstr("bench: expected one of bench step, bench loader before the flag --json"));
  EXPECT_THAT(flag.err, HasSubstr("hint: for example: pounce bench step --json"));
}

TEST(Process, BenchStep) {
  const std::vector<std::string> words = {
      "bench", "step", "--model", "cnn", "--image-size", "16", "--threads", "1", "--seconds"};
  std::vector<std::string> once = words;
  once.insert(once.end(), {"0.01", "--json"});
  Outcome outcome = run_pounce(once);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  auto object = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(object["type"], "bench_step");
  EXPECT_EQ(object["batch_size"], 16);
  EXPECT_GT(object["images_per_second"], 0);

  std::vector<std::string> long_time = words;
  long_time.push_back("1000");
  Process process(long_time, "/");
  ASSERT_TRUE(process.wait_for("verified against the reference")) << process.finish().err;
  process.send(SIGINT);
  Outcome stopped = process.finish();
  EXPECT_EQ(stopped.exit_code, 130);
  EXPECT_EQ(stopped.out, "");
  EXPECT_LT(stopped.seconds, 60);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr double kSecondsForATypo = 1;
#else
constexpr double kSecondsForATypo = 0.01;
#endif

// The folder is missing, too, and would cost an error of its own if it were looked at.
TEST(Process, ATypoFailsBeforeAnythingIsTouched) {
  double least = 1e9;
  for (int i = 0; i < 20; ++i) {
    Outcome outcome = run_pounce({"train", "/nonexistent", "--epoch", "3"});
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_EQ(outcome.out, "");
    EXPECT_THAT(outcome.err, HasSubstr("train: unknown flag --epoch"));
    EXPECT_THAT(outcome.err, HasSubstr("did you mean --epochs?"));
    EXPECT_THAT(outcome.err, testing::Not(HasSubstr("/nonexistent")));
    // The least of many: other programs disturb, and never help.
    least = std::min(least, outcome.cpu_seconds);
  }
  EXPECT_LT(least, kSecondsForATypo);
  EXPECT_THAT(run_pounce({"inspect", "/nonexistent", "--jsno"}).err, HasSubstr("--json?"));
  EXPECT_THAT(run_pounce({"train", "/nonexistent"}).err, HasSubstr("/nonexistent"));
}

TEST(Process, ErrorsAreJsonToo) {
  Outcome outcome = run_pounce({"train", "x", "--lr", "nan", "--json"});
  EXPECT_EQ(outcome.exit_code, 2);
  auto object = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(object["type"], "error");
  EXPECT_EQ(object["kind"], "config");
  EXPECT_THAT(outcome.err, StartsWith("pounce: error: --lr nan"));
}

TEST(Process, ADeviceThatIsNotServed) {
  EXPECT_EQ(run_pounce({"train", "x", "--device", "cuda"}).exit_code, 1);
  EXPECT_EQ(run_pounce({"train", "x", "--device", "mps"}).exit_code, 2);
}

TEST(Process, AFullDeviceIsAnError) {
  Outcome outcome = run_shell("\"$POUNCE\" --version > /dev/full");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.out, HasSubstr("no space left"));
}

TEST(Process, ColorsAreForTerminals) {
  EXPECT_THAT(run_pounce({"x"}).err, testing::Not(HasSubstr("\x1b")));
  EXPECT_THAT(run_pounce({"train", "--color=always", "--x"}).err, HasSubstr("\x1b[1;31m"));
}

// What an unknown command prints on a terminal, with this environment and these flags.
std::string on_a_terminal(const std::string& environment, const std::string& flags) {
  return run_shell("script -qec \"env " + environment + " '$POUNCE' train " + flags +
                   " --x\" /dev/null < /dev/null")
      .out;
}

TEST(Process, ColorsOfTerminalsCanBeTurnedOff) {
  if (run_shell("command -v script").exit_code != 0) GTEST_SKIP() << "script(1) is not here";
  const std::string terminal = "-u NO_COLOR TERM=xterm";
  EXPECT_THAT(on_a_terminal(terminal, ""), HasSubstr("\x1b[1;31merror"));
  EXPECT_THAT(on_a_terminal(terminal, "--color auto"), HasSubstr("\x1b[1;31merror"));
  for (const auto& [environment, flags] :
       std::vector<std::pair<std::string, std::string>>{{terminal, "--color never"},
                                                        {"TERM=xterm NO_COLOR=1", ""},
                                                        {"-u NO_COLOR TERM=dumb", ""}}) {
    std::string text = on_a_terminal(environment, flags);
    EXPECT_THAT(text, HasSubstr("error: train: unknown flag --x")) << environment << flags;
    EXPECT_THAT(text, testing::Not(HasSubstr("\x1b"))) << environment << flags;
  }
  EXPECT_THAT(on_a_terminal("NO_COLOR=1 TERM=dumb", "--color always"), HasSubstr("\x1b[1;31m"));
}

TEST_F(SmallDigits, FoldersThatCannotBeTrainedOn) {
  fs::create_directories(work_.path("empty"));
  fs::create_directories(work_.path("one/cat"));
  fs::copy_file(source() + "0/0000.png", work_.path("one/cat/a.png"));
  write_file(work_.path("file"), "x");
  const std::pair<const char*, const char*> cases[] = {
      {"missing", "missing"}, {"empty", "empty"}, {"one", "1 class (cat)"}, {"file", "file"}};
  for (const auto& [folder, said] : cases) {
    SCOPED_TRACE(folder);
    Outcome outcome = run({"train", folder});
    EXPECT_EQ(outcome.exit_code, 2) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_THAT(outcome.err, StartsWith("pounce: error: "));
    EXPECT_THAT(outcome.err, HasSubstr(said));
    EXPECT_FALSE(fs::exists(work_.path("runs")));
  }
}

TEST_F(SmallDigits, OutputThatCannotBeWritten) {
  write_file(work_.path("file"), "x");
  for (const char* out : {"file", "file/below", "digits/inside", "/proc/nowhere"}) {
    SCOPED_TRACE(out);
    Outcome outcome = run({"train", "digits", "--model", "cnn", "--epochs", "1", "--out", out});
    EXPECT_TRUE(outcome.exit_code == 1 || outcome.exit_code == 2) << outcome.exit_code;
    EXPECT_EQ(outcome.out, "");
    EXPECT_THAT(outcome.err, StartsWith("pounce: error: "));
    // The part of the path that is in the way.
    EXPECT_THAT(outcome.err, HasSubstr(std::string(out).substr(0, 4)));
  }
  EXPECT_FALSE(fs::exists(work_.path("digits/inside")));
}

TEST_F(SmallDigits, AFileSizeLimitIsAnErrorAndNotAnEnd) {
  Outcome outcome = run_shell("cd '" + work_.root() +
                              "' && ulimit -f 64 && \"$POUNCE\" train digits --model cnn "
                              "--image-size 16 --epochs 1 --out run");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.out, HasSubstr("cannot write run/last.safetensors"));
  EXPECT_THAT(unfinished_files(), IsEmpty());
}

TEST_F(SmallDigits, TrainEvaluatePredict) {
  std::string model = train({"--out", "run"});
  EXPECT_EQ(model, "run/best.safetensors");
  Outcome eval = run({"eval", "run", "--dump", "dump.jsonl"});
  EXPECT_EQ(eval.exit_code, 0) << eval.err;
  EXPECT_THAT(eval.out, StartsWith("accuracy"));
  EXPECT_TRUE(fs::exists(work_.path("dump.jsonl")));
  Outcome json = run({"eval", model, "digits", "--split", "all", "--json"});
  EXPECT_EQ(json.exit_code, 0) << json.err;
  auto object = nlohmann::json::parse(json.last_line());
  EXPECT_EQ(object["type"], "eval");
  EXPECT_EQ(object["images"], 80);

  write_file(work_.path("bad.png"), "no picture");
  Outcome predict =
      run({"predict", "run", "digits/0/0000.png", "bad.png", "missing.png", "digits/1"});
  EXPECT_EQ(predict.exit_code, 1);
  EXPECT_THAT(predict.out, StartsWith("digits/0/0000.png\t"));
  EXPECT_EQ(std::count(predict.out.begin(), predict.out.end(), '\n'), 41);
  EXPECT_EQ(std::count(predict.err.begin(), predict.err.end(), '\n'), 2) << predict.err;
  EXPECT_THAT(predict.err, HasSubstr("bad.png"));
  EXPECT_THAT(predict.err, HasSubstr("missing.png"));
  EXPECT_THAT(unfinished_files(), IsEmpty());
}

TEST_F(SmallDigits, PathsFromStandardInput) {
  std::string model = work_.path(train({"--out", "run"}));
  std::string find = "cd '" + work_.root() + "' && find digits/0 -name '*.png' ";
  Outcome lines = run_shell(find + "| \"$POUNCE\" predict '" + model + "' -");
  EXPECT_EQ(lines.exit_code, 0) << lines.out;
  Outcome nuls = run_shell(find + "-print0 | \"$POUNCE\" predict '" + model + "' - -0");
  EXPECT_EQ(std::count(lines.out.begin(), lines.out.end(), '\n'), 40);
  EXPECT_EQ(lines.out, nuls.out);
}

TEST_F(SmallDigits, AReaderThatLeavesIsNoError) {
  std::string model = work_.path(train({"--out", "run"}));
  // The exit code of predict, not of head, is printed to the shell's own output.
  Outcome outcome = run_shell("cd '" + work_.root() + "' && { \"$POUNCE\" predict '" + model +
                              "' digits digits digits digits; echo \"code $?\" >&2; } | head -1");
  EXPECT_THAT(outcome.out, HasSubstr("digits/0/0000.png\t"));
  EXPECT_THAT(outcome.out, HasSubstr("code 0\n"));
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 2) << outcome.out;
}

TEST_F(SmallDigits, AReaderOfEventsThatLeavesIsNoError) {
  Outcome outcome = run_shell("cd '" + work_.root() +
                              "' && { \"$POUNCE\" train digits --model cnn --image-size 16 " +
                              "--epochs 300 --json --out run; echo \"code $?\" >&2; } | head -1");
  EXPECT_THAT(outcome.out, StartsWith("{\"type\":"));
  EXPECT_THAT(outcome.out, HasSubstr("code 0\n"));
  EXPECT_THAT(outcome.out, testing::Not(HasSubstr("error")));
  EXPECT_THAT(unfinished_files(), IsEmpty());
}

TEST_F(SmallDigits, InspectShowsWhatIsInAModel) {
  std::string model = train({"--out", "run", "--seed", "3"});
  Outcome text = run({"inspect", "run"});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_EQ(text.err, "");
  EXPECT_THAT(text.out, StartsWith("file     run/best.safetensors, "));
  EXPECT_THAT(text.out, HasSubstr("classes  2: 0, 1\n"));
  EXPECT_THAT(text.out, HasSubstr("features.0.weight"));
  Outcome json = run({"inspect", model, "--json"});
  EXPECT_EQ(json.exit_code, 0) << json.err;
  auto object = nlohmann::json::parse(json.out);
  EXPECT_EQ(object["type"], "inspect");
  EXPECT_EQ(object["description"]["image_size"], 16);
  EXPECT_EQ(object["bytes"], fs::file_size(work_.path(model)));
}

TEST_F(SmallDigits, CheckSaysWhatIsWrong) {
  EXPECT_EQ(run({"check", "digits", "--strict"}).exit_code, 0);
  write_file(work_.path("digits/0/bad.png"), "no picture");
  fs::copy_file(source() + "0/0000.png", work_.path("digits/1/same.png"));
  Outcome text = run({"check", "digits"});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_EQ(text.err, "");
  EXPECT_THAT(text.out, StartsWith("digits: "));
  EXPECT_THAT(text.out, HasSubstr("damaged: 1\n  0/bad.png: the content is not an image\n"));
  EXPECT_THAT(text.out, HasSubstr("equal files: 1 group"));
  EXPECT_EQ(run({"check", "digits", "--quick", "--strict"}).exit_code, 1);
  Outcome json = run({"check", "digits", "--json"});
  auto object = nlohmann::json::parse(json.out);
  EXPECT_EQ(object["type"], "check");
  EXPECT_EQ(object["damaged"][0]["path"], "0/bad.png");
  EXPECT_EQ(run({"check", "digits/0"}).exit_code, 0);
  EXPECT_THAT(run({"check", "digits/0"}).out, HasSubstr("pounce train refuses this folder: "));
  EXPECT_EQ(run({"check", "none"}).exit_code, 2);
}

TEST_F(SmallDigits, InspectShowsForeignNamesWithoutObeyingThem) {
  const std::string header =
      R"({"__metadata__":{"k\u001b[2J":"v\nmodel    resnet18"},)"
      R"("w\u001b[31m\nfc.bias":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
  std::string bytes(8, '\0');
  bytes[0] = char(header.size());
  bytes += header + std::string("\0\0\xC0\x7F", 4);
  write_file(work_.path("m.safetensors"), bytes);
  Outcome outcome = run({"inspect", "m.safetensors"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("\nmetadata k\\x1b[2J = v\\nmodel    resnet18\n"));
  EXPECT_THAT(outcome.out, HasSubstr("\nw\\x1b[31m\\nfc.bias  F32 "));
  EXPECT_EQ(outcome.err,
            "warning: w\\x1b[31m\\nfc.bias: 1 of 1 value are not finite: 1 NaN, 0 infinite\n");
}

TEST_F(SmallDigits, ModelsThatAreNone) {
  std::string model = work_.path(train({"--out", "run"}));
  auto content = read_file(model);
  ASSERT_TRUE(content);
  std::vector<uint8_t> half(content->begin(), content->begin() + long(content->size() / 2));
  write_file(work_.path("half.safetensors"), std::span<const uint8_t>(half));
  write_file(work_.path("foreign.pth"), "PK\x03\x04 something else");
  write_file(work_.path("none.safetensors"), "");
  for (const char* name : {"half.safetensors", "foreign.pth", "none.safetensors", "missing"}) {
    for (const char* command : {"predict", "eval", "inspect"}) {
      SCOPED_TRACE(std::string(command) + " " + name);
      std::vector<std::string> words = {command, name};
      if (words[0] != "inspect") words.push_back("digits");
      Outcome outcome = run(words);
      EXPECT_TRUE(outcome.exit_code == 1 || outcome.exit_code == 2) << outcome.exit_code;
      EXPECT_EQ(outcome.out, "");
      EXPECT_THAT(outcome.err, StartsWith("pounce: error: "));
      EXPECT_THAT(outcome.err, HasSubstr(name));
    }
  }
}

TEST_F(SmallDigits, JsonIsAllThereIsOnStandardOutput) {
  Outcome outcome = run({"train", "digits", "--model", "cnn", "--image-size", "16", "--epochs", "2",
                         "--threads", "1", "--json", "--out", "run"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  std::vector<std::string> types;
  std::istringstream lines(outcome.out);
  for (std::string line; std::getline(lines, line);) {
    types.push_back(nlohmann::json::parse(line)["type"]);
  }
  EXPECT_EQ(types.front(), "run_begin");
  EXPECT_EQ(types.back(), "run_end");
  EXPECT_EQ(std::count(types.begin(), types.end(), "epoch"), 2);
}

TEST_F(SmallDigits, ClosedStreamsDoNotEndUpInFiles) {
  Outcome outcome = run_shell("cd '" + work_.root() + "' && \"$POUNCE\" train digits --model cnn " +
                              "--image-size 16 --epochs 1 --out run >&- 2>&-");
  EXPECT_EQ(outcome.exit_code, 0);
  for (const char* name : {"log.jsonl", "metrics.csv"}) {
    std::ifstream lines(work_.path("run/") + name);
    for (std::string line; std::getline(lines, line);) {
      EXPECT_TRUE(line.starts_with("{\"type\"") || line.find(',') < 6) << name << ": " << line;
    }
  }
  EXPECT_EQ(run({"predict", "run", "digits"}).exit_code, 0);
}

TEST_F(SmallDigits, QuietLeavesThePathOfTheModel) {
  Outcome outcome = run({"train", "digits", "--model", "cnn", "--image-size", "16", "--epochs", "1",
                         "-q", "--out", "run"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.out, "run/best.safetensors\n");
  EXPECT_EQ(outcome.err, "");
}

TEST_F(SmallDigits, AConfigFileRepeatsTheRunToTheByte) {
  std::string first = train({"--out", "run", "--seed", "5", "--hflip", "0", "--augment", "light",
                             "--sampler", "balanced", "--no-exif"});
  Outcome again = run({"train", "--config", "run/config.toml", "--out", "again"});
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(*read_file(work_.path(first)), *read_file(work_.path(again.last_line())));
}

TEST_F(SmallDigits, SignalsStopCleanly) {
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) {
    SCOPED_TRACE(signal);
    std::string out = "signal" + std::to_string(signal);
    Process process({"train", "digits", "--model", "cnn", "--image-size", "32", "--epochs",
                     "100000", "--out", out},
                    work_.root());
    ASSERT_TRUE(process.wait_for("epoch      2/100000")) << process.finish().err;
    process.send(signal);
    Outcome outcome = process.finish();
    EXPECT_EQ(outcome.exit_code, 128 + signal);
    EXPECT_THAT(outcome.err, HasSubstr("stopping after the current step"));
    EXPECT_EQ(outcome.last_line(), out + "/best.safetensors");
    EXPECT_TRUE(fs::exists(work_.path(out + "/best.safetensors")));
    EXPECT_THAT(unfinished_files(), IsEmpty());
    EXPECT_EQ(run({"predict", out, "digits/0/0000.png"}).exit_code, 0);
  }
}

TEST_F(SmallDigits, ADumpReplacesNothingButADump) {
  train({"--out", "run"});
  for (int repeat = 0; repeat < 2; ++repeat) {
    EXPECT_EQ(run({"eval", "run", "--dump", "dump.jsonl"}).exit_code, 0);
  }
  std::vector<uint8_t> model = *read_file(work_.path("run/best.safetensors"));
  Outcome outcome = run({"eval", "run", "--dump", "run/best.safetensors"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("holds something else than a dump"));
  EXPECT_EQ(*read_file(work_.path("run/best.safetensors")), model);
  // A pipe that nobody reads.
  run_shell("mkfifo '" + work_.path("pipe") + "'");
  EXPECT_EQ(run({"eval", "run", "--dump", "pipe"}).exit_code, 1);
}

TEST_F(SmallDigits, WhatIsNoListOfPathsIsAnError) {
  train({"--out", "run"});
  std::string start = "cd '" + work_.root() + "' && ";
  Outcome outcome = run_shell(start + R"(printf 'digits/0/0000.png\0x' | "$POUNCE" predict run -)");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.out, HasSubstr("add -0"));
  outcome = run_shell(start + R"("$POUNCE" predict run - < digits)");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.out, HasSubstr("cannot read paths from standard input"));
}

TEST_F(SmallDigits, OutFoldersAreRefusedForTheRightReason) {
  Outcome outcome = run({"train", "digits", "--out", std::string(300, 'x')});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("too long"));
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += "a.";
  write_file(work_.path("deep.toml"), deep + "b = 1\n");
  outcome = run({"train", "digits", "--config", "deep.toml"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("expected at most 65536 bytes"));
}

// Scan, planning, steps, validation, saving, the final test: whatever a signal meets.
TEST_F(SmallDigits, ASignalAtAnyMomentLosesNothing) {
  fs::create_directories(work_.path("split"));
  for (const char* part : {"train", "val", "test"}) {
    fs::create_directory_symlink(work_.path("digits"), work_.path("split/") + part);
  }
  constexpr int kMoments = 16;
  int interrupted = 0;
  for (int moment = 0; moment < kMoments; ++moment) {
    SCOPED_TRACE(moment);
    std::string out = "run" + std::to_string(moment);
    Process process(
        {"train", "split", "--model", "cnn", "--image-size", "16", "--epochs", "4", "--out", out},
        work_.root());
    std::this_thread::sleep_for(std::chrono::milliseconds(moment * moment * 2));
    process.send(SIGINT);
    Outcome outcome = process.finish();
    bool ended_before_it_listened = outcome.exit_code == -SIGINT;
    interrupted += outcome.exit_code == 130;
    EXPECT_TRUE(outcome.exit_code == 0 || outcome.exit_code == 130 || ended_before_it_listened)
        << outcome.exit_code << outcome.err;
    EXPECT_FALSE(ended_before_it_listened && fs::exists(work_.path(out)));
    if (!outcome.out.empty()) {
      EXPECT_EQ(run({"predict", outcome.last_line(), "digits/0/0000.png"}).exit_code, 0);
    }
    EXPECT_THAT(unfinished_files(), IsEmpty());
  }
  // The later ones of the long runs cannot have ended by themselves.
  EXPECT_GE(interrupted, 3);
}

TEST_F(SmallDigits, ADryRunSaysAllAndWritesNothing) {
  Outcome outcome = run({"train", "digits", "--dry-run"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, HasSubstr("digits: 80 images, 2 classes (0 40, 1 40)"));
  EXPECT_THAT(outcome.err, HasSubstr("planned"));
  EXPECT_THAT(outcome.err, HasSubstr("use --hflip 0"));
  EXPECT_THAT(outcome.err, HasSubstr("dry run: nothing was trained and nothing was written"));
  EXPECT_FALSE(fs::exists(work_.path("runs")));

  fs::create_directories(work_.path("taken/x"));
  outcome = run({"train", "digits", "--dry-run", "--out", "taken"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("exists already"));

  write_file(work_.path("file"), "in the way");
  outcome = run({"train", "digits", "--dry-run", "--out", "file/run"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("cannot create the folder file"));
  EXPECT_EQ(run({"train", "digits", "--dry-run", "-q"}).err, "");
}

// As on a disk that fills up: no file can grow beyond a kibibyte, which plan.json does.
TEST_F(SmallDigits, AStartThatFailsLeavesTheNameFree) {
  auto train_limited = [&](const std::string& out) {
    std::string command = fmt::format(
        "cd '{}' && trap '' XFSZ && ulimit -f 1 && exec '{}' train digits --model cnn --epochs 1 "
        "--out {} >/dev/null 2>&1",
        work_.root(), POUNCE_BINARY, out);
    return WEXITSTATUS(std::system(fmt::format("bash -c \"{}\"", command).c_str()));
  };
  fs::create_directories(work_.path("empty"));
  for (const char* out : {"new", "empty"}) {
    EXPECT_EQ(train_limited(out), 1) << out;
    EXPECT_EQ(run({"train", "digits", "--model", "cnn", "--epochs", "1", "--out", out}).exit_code,
              0)
        << out;
  }
  EXPECT_EQ(train_limited("gone"), 1);
  EXPECT_FALSE(fs::exists(work_.path("gone")));
}

// Before the scan: a run of minutes must not end where it should have begun.
TEST_F(SmallDigits, ATakenRunFolderIsRefusedFirst) {
  fs::create_directories(work_.path("taken/x"));
  Outcome outcome = run({"train", "no-such-folder", "--out", "taken"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("taken exists already"));
}

}  // namespace
}  // namespace pounce::cli
