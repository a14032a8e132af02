#include "cli/bench_flags.h"

#include <optional>

#include "base/error.h"
#include "base/text.h"
#include "cli/flag_parts.h"

namespace pounce::cli {
namespace {

// Without auto, which begins one in the middle of a run.
const Words<CacheMode> kBenchCaches = {
    {"none", CacheMode::None}, {"ram", CacheMode::Ram}, {"disk", CacheMode::Disk}};

double parse_seconds(const std::string& given) {
  std::optional<double> seconds = parse_double(given);
  if (!seconds || *seconds <= 0 || *seconds > kMostBenchSeconds) {
    fail(ErrorKind::Config, "--seconds {}: expected a number above 0, at most {}",
         given.empty() ? "(empty)" : given, kMostBenchSeconds);
  }
  return *seconds;
}

Flag with_default(Flag flag, const char* default_text) {
  flag.default_text = default_text;
  flag.details.clear();
  return flag;
}

std::vector<Flag> bench_step_flags() {
  std::vector<Flag> flags;
  flags.push_back(with_default(like_train("model",
                                          [](Settings& settings, const TrainConfig& checked) {
                                            settings.bench_step.model = *checked.model;
                                          }),
                               "resnet18"));
  flags.push_back(with_default(like_train("image-size",
                                          [](Settings& settings, const TrainConfig& checked) {
                                            settings.bench_step.image_size = *checked.image_size;
                                          }),
                               "224"));
  flags.push_back(with_default(like_train("batch-size",
                                          [](Settings& settings, const TrainConfig& checked) {
                                            settings.bench_step.batch_size = *checked.batch_size;
                                          }),
                               "16"));
  for (Flag& flag : flags) flag.section = "Model";
  flags.push_back({.name = "seconds",
                   .section = "Run",
                   .value_name = "X",
                   .default_text = "10",
                   .help = "how long steps are timed; at least five are",
                   .set = [](Settings& settings, const std::string& given) {
                     settings.bench_step.seconds = parse_seconds(given);
                   }});
  flags.push_back(like_train("threads", [](Settings& settings, const TrainConfig& checked) {
    settings.bench_step.threads = checked.threads;
  }));
  flags.push_back(like_train("device", [](Settings& settings, const TrainConfig& checked) {
    settings.bench_step.device = checked.device;
  }));
  flags.push_back(like_train("conv-algorithm", [](Settings& settings, const TrainConfig& checked) {
    settings.bench_step.conv_algorithm = checked.conv_algorithm;
  }));
  for (Flag& flag : flags) flag.is_essential = true;
  add_output_flags(flags, "the result as one line of JSON");
  return flags;
}

std::vector<Flag> bench_loader_flags() {
  std::vector<Flag> flags;
  flags.push_back(with_default(like_train("image-size",
                                          [](Settings& settings, const TrainConfig& checked) {
                                            settings.bench_loader.image_size = *checked.image_size;
                                          }),
                               "224"));
  flags.push_back(with_default(like_train("crop-scale",
                                          [](Settings& settings, const TrainConfig& checked) {
                                            settings.bench_loader.crop_scale_min =
                                                *checked.crop_scale_min;
                                            settings.bench_loader.crop_scale_max =
                                                *checked.crop_scale_max;
                                          }),
                               "0.08,1"));
  flags.push_back(with_default(like_train("batch-size",
                                          [](Settings& settings, const TrainConfig& checked) {
                                            settings.bench_loader.batch_size = *checked.batch_size;
                                          }),
                               "64"));
  flags.back().help = "images a batch";
  for (Flag& flag : flags) flag.section = "Images";
  flags.push_back({.name = "seconds",
                   .section = "Run",
                   .value_name = "X",
                   .default_text = "10",
                   .help = "how long batches are timed",
                   .set = [](Settings& settings, const std::string& given) {
                     settings.bench_loader.seconds = parse_seconds(given);
                   }});
  flags.push_back(with_default(like_train("epochs",
                                          [](Settings& settings, const TrainConfig& checked) {
                                            settings.bench_loader.epochs = *checked.epochs;
                                          }),
                               "by --seconds"));
  flags.back().help = "time exactly so many epochs";
  flags.back().section = "Run";
  flags.push_back(like_train("workers", [](Settings& settings, const TrainConfig& checked) {
    settings.bench_loader.workers = checked.workers;
  }));
  flags.push_back({.name = "cache",
                   .section = "Run",
                   .value_name = "WORD",
                   .default_text = "none",
                   .help = "none, ram or disk: measure an epoch that fills it, then others",
                   .choices = names_of(kBenchCaches),
                   .set = [](Settings& settings, const std::string& given) {
                     settings.bench_loader.cache = parse_word("cache", given, kBenchCaches);
                   }});
  flags.push_back(like_train("cache-limit", [](Settings& settings, const TrainConfig& checked) {
    settings.bench_loader.cache_limit = checked.cache_limit;
  }));
  for (Flag& flag : flags) flag.is_essential = true;
  add_output_flags(flags, "the result as one line of JSON");
  return flags;
}

}  // namespace

Command bench_step_command() {
  return {.name = "bench step",
          .arguments = "",
          .summary = "measure the speed of training steps",
          .details =
              "Times forward pass, backward pass and AdamW update on synthetic images: the program "
              "that pounce train runs, without reading files. An update is first compared with "
              "the plain loops of the reference backend at a small size; a difference ends the "
              "command with exit code 1. Prints images per second of the median step, and of the "
              "slowest and fastest tenth.",
          .examples = {"pounce bench step --model resnet18 --batch-size 16",
                       "pounce bench step --model cnn --image-size 32 --threads 1 --json"},
          .flags = bench_step_flags(),
          .take_arguments = [](Settings&, const std::vector<std::string>& arguments) {
            if (arguments.empty()) return;
            fail_with_hint(ErrorKind::Config, "pounce bench step -h lists the flags",
                           "bench step: expected flags only, found {}", fmt::join(arguments, ", "));
          }};
}

Command bench_loader_command() {
  return {.name = "bench loader",
          .arguments = "DIR",
          .summary = "measure the speed of preparing images",
          .details =
              "Times what pounce train does with images before the first layer sees them: read, "
              "decode, random resized crop, flip, batch. DIR is any folder that pounce train "
              "takes (its training images, none held back), or any folder with images below it. "
              "The first "
              "batches are compared first: one decode thread, several, and one image after the "
              "other must give the same bytes; a difference ends the command with exit code 1. "
              "Prints images per second of the median quarter of a second, of the slowest and "
              "fastest tenth, and per second of CPU time, and where the time went.",
          .examples = {"pounce bench loader photos/",
                       "pounce bench loader photos/ --workers 1 --epochs 2 --json"},
          .flags = bench_loader_flags(),
          .take_arguments = [](Settings& settings, const std::vector<std::string>& arguments) {
            if (arguments.size() != 1) {
              fail_with_hint(
                  ErrorKind::Config, "for example: pounce bench loader photos/",
                  "bench loader: expected one folder, found {}",
                  arguments.empty() ? "nothing" : fmt::format("{}", fmt::join(arguments, ", ")));
            }
            settings.bench_loader.data = arguments[0];
          }};
}

}  // namespace pounce::cli
