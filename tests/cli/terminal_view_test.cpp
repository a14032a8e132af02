// What people see: lines for events, a progress line that fits, tables in any script.
#include "cli/terminal_view.h"

#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/system.h"
#include "base/text.h"
#include "cli/eval_report.h"
#include "cli/expect_error.h"

namespace pounce::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

// Collects both streams; the clock is the test's.
struct Screen {
  explicit Screen(ViewOptions options = {}, bool has_color = false)
      : output(has_color,
               [this](int descriptor, std::string_view text) {
                 (descriptor == kStdout ? out : err) += text;
                 return true;
               }),
        view(complete(std::move(options)), output) {}

  ViewOptions complete(ViewOptions options) {
    options.width = [this] { return width; };
    options.clock = [this] { return now; };
    return options;
  }

  std::string out, err;
  int width = 80;
  double now = 0;
  Output output;
  TerminalView view;
};

RunBegin some_run() {
  RunBegin event;
  event.run_folder = "runs/photos-1";
  event.device = "cpu, 8 threads";
  event.model = "resnet18";
  event.classes = {"cat", "狗"};
  event.class_images = {998, 999};
  event.train_images = 1596;
  event.val_images = 401;
  event.val_is_split_off = true;
  event.skipped = 3;
  event.memory_bytes = 1395864371;
  event.config.data = "my/photos/";
  event.config.image_size = 224;
  event.config.epochs = 40;
  event.config.batch_size = 64;
  event.config.learning_rate = 1e-3;
  event.config.weight_decay = 0.05;
  event.config.crop_scale_min = 0.35;
  event.config.crop_scale_max = 1.0;
  event.config.hflip = 0.5;
  return event;
}

EpochEnd some_epoch() {
  EpochEnd event;
  event.epoch = 1;
  event.epochs = 40;
  event.train_loss = 0.6931;
  event.train_accuracy = 0.541;
  event.val_loss = 0.6804;
  event.val_accuracy = 0.576;
  event.images_per_second = 45.2;
  event.allocated_bytes = 1288490188;
  event.planned_bytes = 1395864371;
  event.seconds_left = 23 * 60;
  event.is_best = true;
  return event;
}

StepProgress some_progress() {
  StepProgress event;
  event.epoch = 3;
  event.epochs = 40;
  event.images = 798;
  event.images_total = 1596;
  event.loss = 0.6931;
  event.accuracy = 0.541;
  event.images_per_second = 45;
  event.seconds_left = 23 * 60;
  return event;
}

TEST(TerminalView, ARunInLines) {
  Screen screen;
  screen.view.handle(some_run());
  screen.view.handle(NoteIssued{"starting from random weights"});
  screen.view.handle(some_progress());
  screen.view.handle(some_epoch());
  screen.view.handle(CheckpointSaved{"runs/photos-1/last.safetensors"});
  screen.view.handle(WarningIssued{"few images"});
  RunEnd end;
  end.best_epoch = 31;
  end.best_val_accuracy = 0.973;
  end.test_accuracy = 0.969;
  end.model = "runs/photos-1/best.safetensors";
  end.seconds = 24 * 60;
  screen.view.handle(end);
  EXPECT_EQ(screen.out, "");
  EXPECT_EQ(
      screen.err,
      "photos: 1,997 images, 2 classes (cat 998, 狗 999); 3 files skipped: "
      "runs/photos-1/skipped.tsv\n"
      "no val folder: 401 images held back for validation\n"
      "device: cpu, 8 threads\n"
      "resnet18, 224 px, random weights, 40 epochs, memory 1.3 GB planned\n"
      "batch 64, adamw, lr 0.001, weight decay 0.05, warm-up 1, crop scale 0.35-1, hflip 0.5, "
      "seed 0\n"
      "note: starting from random weights\n"
      "epoch  1/40  train 0.693 54.1%  val 0.680 57.6% best  45 img/s  data wait 0%  memory "
      "1.2 of 1.3 GB  23 min left\n"
      "warning: few images\n"
      "done after 24 min: best epoch 31, validation accuracy 97.3%, test accuracy 96.9%\n");
}

TEST(TerminalView, SaysWhatBecameOfStartWeights) {
  RunBegin run = some_run();
  run.config.init = "weights/resnet18.safetensors";
  Screen begin;
  begin.view.handle(run);
  EXPECT_THAT(begin.err, HasSubstr("224 px, weights from resnet18.safetensors, 40 epochs"));
  WeightsLoaded weights;
  weights.path = "weights/resnet18.safetensors";
  weights.prefix = "module.";
  weights.head = "head replaced (1,000 classes in the file, 2 here)";
  weights.loaded = {"conv1.weight", "bn1.weight"};
  weights.replaced = {"fc.weight"};
  weights.unknown = {"loss.scale"};
  Screen plain;
  plain.view.handle(weights);
  EXPECT_EQ(
      plain.err,
      "note: resnet18.safetensors: 2 entries loaded, \"module.\" stripped from their names; "
      "head replaced (1,000 classes in the file, 2 here); 1 unknown, not used (loss.scale)\n");
  weights.missing = {"bn1.bias"};
  Screen partial;
  partial.view.handle(weights);
  EXPECT_THAT(partial.err, testing::StartsWith("warning: resnet18.safetensors: 2 entries"));
  EXPECT_THAT(partial.err, HasSubstr("1 missing, left random (bn1.bias)"));
}

TEST(TerminalView, AugmentationThatWasChosen) {
  auto line_of = [](RunBegin run) {
    Screen screen;
    screen.view.handle(run);
    return screen.err;
  };
  RunBegin run = some_run();
  run.config.vflip = 0.5;
  EXPECT_THAT(line_of(run), HasSubstr("crop scale 0.35-1, hflip 0.5, vflip 0.5, seed 0"));
  run.config.crop_scale_min.reset();
  EXPECT_THAT(line_of(run), HasSubstr("warm-up 1, center crop, hflip 0.5, vflip 0.5, seed 0"));
  run.config.hflip = run.config.vflip = 0;
  run.config.sampler = SamplerKind::Balanced;
  run.config.exif = false;
  EXPECT_THAT(line_of(run), HasSubstr("warm-up 1, no augmentation, balanced sampler, EXIF "
                                      "orientation not applied, seed 0"));
}

TEST(TerminalView, SplitsFromFolders) {
  RunBegin run = some_run();
  run.val_is_split_off = false;
  run.test_images = 50;
  Screen screen;
  screen.view.handle(run);
  EXPECT_THAT(screen.err,
              HasSubstr("1,596 images for training, 401 for validation, 50 for the test\n"));
  run.val_images = 0;
  run.test_images = 0;
  screen.view.handle(run);
  EXPECT_THAT(screen.err, HasSubstr("none for validation: the last model is the best\n"));
}

TEST(TerminalView, EpochsWithoutValidation) {
  EpochEnd epoch = some_epoch();
  epoch.val_accuracy.reset();
  epoch.val_loss.reset();
  epoch.allocated_bytes = 800 << 20;
  EXPECT_EQ(epoch_line(epoch),
            "epoch  1/40  train 0.693 54.1%  45 img/s  data wait 0%  memory 800 MB of 1.3 GB  "
            "23 min left");
}

TEST(TerminalView, InterruptedRuns) {
  Screen screen;
  RunEnd end;
  end.interrupted = true;
  end.seconds = 8;
  screen.view.handle(end);
  EXPECT_EQ(screen.err, "stopped after 8 s; no epoch was completed, so there is no model\n");
}

TEST(TerminalView, QuietSaysNothing) {
  Screen screen({.progress = ProgressMode::Bar, .quiet = true});
  screen.view.handle(some_run());
  screen.view.handle(some_progress());
  screen.view.handle(some_epoch());
  screen.view.handle(WarningIssued{"w"});
  EXPECT_EQ(screen.err, "");
}

TEST(TerminalView, VerboseSaysMore) {
  Screen screen({.verbose = true});
  screen.view.handle(some_run());
  screen.view.handle(some_epoch());
  screen.view.handle(CheckpointSaved{"last.safetensors"});
  screen.view.handle(ProgramBuilt{"train/64", 1 << 20, "pass p\nplanned"});
  EXPECT_THAT(screen.err, HasSubstr("parameters"));
  EXPECT_THAT(screen.err, HasSubstr("program train/64, 1.0 MB planned\n  pass p\n  planned\n"));
  EXPECT_THAT(screen.err, HasSubstr("  update 0, lr 0"));
  EXPECT_THAT(screen.err, HasSubstr("  saved last.safetensors\n"));
}

TEST(TerminalView, ProgressIsRedrawnAtMostSixTimesASecond) {
  Screen screen({.progress = ProgressMode::Bar});
  int draws = 0;
  for (int step = 0; step < 1000; ++step) {
    screen.now = step * 0.001;
    screen.err.clear();
    screen.view.handle(some_progress());
    if (!screen.err.empty()) ++draws;
  }
  EXPECT_GE(draws, 5);
  EXPECT_LE(draws, 6);
}

TEST(TerminalView, ProgressIsErasedBeforeOtherLines) {
  Screen screen({.progress = ProgressMode::Bar});
  screen.view.handle(some_progress());
  EXPECT_TRUE(screen.err.starts_with("\r\x1b[Kepoch  3/40"));
  EXPECT_FALSE(screen.err.ends_with('\n'));
  screen.err.clear();
  screen.view.handle(some_epoch());
  EXPECT_TRUE(screen.err.starts_with("\r\x1b[Kepoch  1/40"));
  screen.err.clear();
  screen.view.handle(some_epoch());
  EXPECT_TRUE(screen.err.starts_with("epoch"));
}

TEST(TerminalView, ProgressFitsAnyWidth) {
  EXPECT_EQ(progress_line(some_progress(), 99),
            "epoch  3/40  [============            ]  798/1,596  train 0.693 54.1%  45 img/s  "
            "23 min left");
  EXPECT_EQ(progress_line(some_progress(), 40), "epoch  3/40  798/1,596  23 min left");
  StepProgress validating = some_progress();
  validating.validating = true;
  EXPECT_THAT(progress_line(validating, 99), HasSubstr("validating 798/1,596  val 0.693"));
  for (int width = 0; width <= 200; ++width) {
    EXPECT_LE(display_width(progress_line(some_progress(), width)), width);
    EXPECT_LE(display_width(progress_line(StepProgress{}, width)), width);
  }
}

TEST(TerminalView, ALongScanShowsHowFarItIs) {
  EXPECT_EQ(scan_line(41200, 0, 80), "listing  41,200 files");
  EXPECT_EQ(scan_line(50000, 100000, 80),
            "scanning  [============            ]  50,000/100,000 files");
  for (int width = 0; width <= 100; ++width) {
    EXPECT_LE(display_width(scan_line(50000, 100000, width)), width);
  }
  Screen screen({.progress = ProgressMode::Bar});
  screen.view.handle(ScanProgress{10, 0});
  screen.now = 0.9;
  screen.view.handle(ScanProgress{20, 0});
  EXPECT_EQ(screen.err, "");
  screen.now = 1.1;
  screen.view.handle(ScanProgress{30, 0});
  EXPECT_THAT(screen.err, HasSubstr("listing  30 files"));
  Screen plain;
  for (int64_t i = 0; i < 9; ++i) plain.view.handle(ScanProgress{i, 9});
  EXPECT_EQ(plain.err, "");
}

TEST(Output, ColorsOnlyWhenAsked) {
  Screen plain, colored({}, true);
  Error error(ErrorKind::Config, "found a, expected b", "do c");
  error.add_context("while reading d");
  print_error(plain.output, error);
  print_error(colored.output, error);
  EXPECT_EQ(plain.err, "pounce: error: found a, expected b\n  while reading d\nhint: do c\n");
  EXPECT_THAT(colored.err, HasSubstr("\x1b[1;31merror:\x1b[0m found"));
}

// Whether nothing but line feeds is left of what steers a terminal.
bool is_harmless(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (printable(line) != line) return false;
  }
  return true;
}

TEST(Output, NamesCannotSteerTheTerminal) {
  Screen screen({.progress = ProgressMode::Plain, .verbose = true});
  const std::string evil = "a\x1b[2Jb\n\u202Ec\x9B";
  RunBegin run = some_run();
  run.classes = {evil, evil};
  run.run_folder = run.config.data = run.device = evil;
  screen.view.handle(run);
  screen.view.handle(CheckpointSaved{evil});
  screen.view.handle(WarningIssued{evil});
  screen.view.handle(NoteIssued{evil});
  screen.view.handle(ProgramBuilt{evil, 1, evil});
  Error error(ErrorKind::BadData, evil, evil);
  error.add_context(evil);
  print_error(screen.output, error);
  EXPECT_TRUE(is_harmless(screen.err)) << screen.err;
  EXPECT_THAT(screen.err, HasSubstr("warning: a\\x1b[2Jb\\n\\u202ec\\x9b\n"));
  EXPECT_THAT(screen.err, HasSubstr("hint: a\\x1b[2Jb\n\\u202e"));
}

TEST(Output, AReaderThatHasGoneIsNoError) {
  int reason = EPIPE;
  Output output(false, [&](int, std::string_view) {
    errno = reason;
    return false;
  });
  EXPECT_THROW(output.result("x"), BrokenPipe);
  reason = ENOSPC;
  Error error = error_of([&] { output.result("x"); });
  EXPECT_EQ(error.kind(), ErrorKind::Io);
  EXPECT_THAT(error.message(), HasSubstr("no space left"));
  output.message("lost");
}

EvalResult some_result() {
  EvalResult result;
  result.accuracy = 0.75;
  result.top5_accuracy = 1;
  result.loss = 0.51234;
  result.images = 4;
  result.confusion = {{2, 1}, {0, 1}};
  result.per_class = {{"三毛猫", 3, 2}, {"dog", 1, 1}};
  return result;
}

TEST(EvalReport, ColumnsKeepTheirPlaceInAnyScript) {
  EXPECT_EQ(eval_report(some_result()),
            "accuracy  75.00%  (3 of 4 images)\n"
            "loss      0.5123\n"
            "\n"
            "class   images  correct  accuracy\n"
            "三毛猫       3        2    66.67%\n"
            "dog          1        1   100.00%\n"
            "\n"
            "most frequent confusions\n"
            "true    predicted  images\n"
            "三毛猫  dog             1");
}

TEST(EvalReport, NamesKeepToTheirRow) {
  EvalResult result = some_result();
  result.per_class[0].name = "a\nb\x1b[0m";
  EXPECT_TRUE(is_harmless(eval_report(result)));
  EXPECT_THAT(eval_report(result), HasSubstr("\na\\nb\\x1b[0m       3 "));
}

TEST(EvalReport, TopFiveOnlyWhereItMeansSomething) {
  EvalResult result = some_result();
  EXPECT_THAT(eval_report(result), Not(HasSubstr("top-5")));
  for (const char* name : {"c", "d", "e", "f"}) {
    result.per_class.push_back({name, 0, 0});
    for (auto& row : result.confusion) row.push_back(0);
    result.confusion.emplace_back(result.per_class.size(), 0);
  }
  EXPECT_THAT(eval_report(result), HasSubstr("top-5     100.00%\n"));
  EXPECT_THAT(eval_report(result), HasSubstr("c            0        0         -\n"));
}

}  // namespace
}  // namespace pounce::cli
