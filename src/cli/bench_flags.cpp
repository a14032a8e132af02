#include "cli/bench_flags.h"

#include <optional>

#include "base/error.h"
#include "base/text.h"
#include "cli/flag_parts.h"

namespace pounce::cli {
namespace {

void set_seconds(Settings& settings, const std::string& given) {
  std::optional<double> seconds = parse_double(given);
  if (!seconds || *seconds <= 0 || *seconds > kMostBenchSeconds) {
    fail(ErrorKind::Config, "--seconds {}: expected a number above 0, at most {}",
         given.empty() ? "(empty)" : given, kMostBenchSeconds);
  }
  settings.bench_step.seconds = *seconds;
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
                   .set = set_seconds});
  flags.push_back(like_train("threads", [](Settings& settings, const TrainConfig& checked) {
    settings.bench_step.threads = checked.threads;
  }));
  flags.push_back(like_train("device", [](Settings& settings, const TrainConfig& checked) {
    settings.bench_step.device = checked.device;
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

}  // namespace pounce::cli
