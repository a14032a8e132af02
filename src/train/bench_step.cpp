#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/system.h"
#include "pounce/bench.h"
#include "train/device.h"
#include "train/inference.h"
#include "train/percentile.h"
#include "train/synthetic_step.h"
#include "train/verify_step.h"

namespace pounce {
namespace {

constexpr int kWarmUpSteps = 2, kLeastSteps = 5;
constexpr double kWarmUpSeconds = 0.5;
constexpr double kWeightDecay = 0.05;
constexpr char kPrecision[] = "fp32", kOptimizer[] = "adamw";

void check_bench_config(const BenchStepConfig& config) {
  auto check = [](const char* name, double value, double least, double most) {
    if (value >= least && value <= most) return;
    fail(ErrorKind::Config, "{} is {}, expected {} to {}", name, value, least, most);
  };
  check("image-size", config.image_size, 8, 4096);
  check("batch-size", config.batch_size, 1, 65536);
  check("threads", config.threads, 0, 1024);
  if (config.seconds > 0 && config.seconds <= kMostBenchSeconds) return;
  fail(ErrorKind::Config, "seconds is {}, expected a number above 0, at most {}", config.seconds,
       kMostBenchSeconds);
}

// Calls `step` at least `steps` times and for `seconds`; returns how long each call took.
template <typename Step>
std::vector<double> time_steps(int steps, double seconds, Step step) {
  std::vector<double> times;
  double start = monotonic_seconds();
  for (double now = start; int(times.size()) < steps || now - start < seconds;) {
    double before = now;
    step();
    now = monotonic_seconds();
    times.push_back(now - before);
  }
  return times;
}

StepSpec make_spec(const BenchStepConfig& config) {
  ModelInfo info;
  info.model = config.model;
  info.classes = {"cat", "dog"};
  info.image_size = config.image_size;
  StepSpec spec = make_step_spec(info);
  spec.optimizer.kind = OptimizerKind::AdamW;  // kOptimizer
  spec.optimizer.weight_decay = kWeightDecay;
  return spec;
}

OpenDevice open(const BenchStepConfig& config) {
  return open_device(config.device, {config.threads, config.conv_algorithm});
}

void measure(SyntheticStep& synthetic, const BenchStepConfig& config, const std::stop_token& stop,
             BenchStepResult& result) {
  double warm_up = std::min(kWarmUpSeconds, config.seconds);
  time_steps(kWarmUpSteps, warm_up, [&] { synthetic.step(stop); });
  double start = monotonic_seconds();
  std::vector<double> times =
      time_steps(kLeastSteps, config.seconds, [&] { synthetic.step(stop); });
  result.seconds = monotonic_seconds() - start;
  result.steps = int(times.size());
  std::sort(times.begin(), times.end());
  double median = percentile(times, 0.5);
  result.step_ms = 1000 * median;
  result.images_per_second = config.batch_size / median;
  result.p10 = config.batch_size / percentile(times, 0.9);
  result.p90 = config.batch_size / percentile(times, 0.1);
}

}  // namespace

BenchStepResult bench_step(const BenchStepConfig& config, const BenchStepObserver& observer,
                           std::stop_token stop) {
  check_bench_config(config);
  StepSpec spec = make_spec(config);
  // Planned before the verification, so that sizes which cannot work are refused at once.
  SyntheticStep synthetic(open(config), spec, config.batch_size);
  StepRunner& runner = synthetic.runner();
  BenchStepResult result;
  result.device = runner.device().description;
  result.precision = kPrecision;
  result.optimizer = kOptimizer;
  result.parameters = runner.parameters();
  result.planned_bytes = int64_t(runner.session().planned_bytes());
  if (observer.on_verifying) observer.on_verifying();
  result.verification = verify_step(open(config), spec, stop);
  if (observer.on_verified) observer.on_verified(result.verification);
  measure(synthetic, config, stop, result);
  return result;
}

}  // namespace pounce
